import Delivery
import HTTP2
import NIOCore
import Notifications

/// Writes the answers of the provider API (Guide, Tables 8-3 to 8-5).
struct ProviderResponse {
    private let environment: Environment
    private let hasDetail: Bool
    private var headers = FieldList()

    /// - Parameter hasDetail: whether answers contain the key `detail`, which helps developers.
    init(environment: Environment, hasDetail: Bool) {
        self.environment = environment
        self.hasDetail = hasDetail
    }

    /// Returns the headers of a 200, which has no body. In the development environment, `apns-unique-id` is the
    /// identifier with which the delivery log can be searched.
    /// - Parameter isUnique: false to leave that header out.
    mutating func accepted(_ id: NotificationID, isUnique: Bool = true) -> FieldList {
        headers.removeAll()
        headers.append(":status", "200")
        append(id.textAsSent)
        let text = id.text
        if environment == .development, isUnique { headers.append("apns-unique-id", text.span, .neverIndexed) }
        return headers
    }

    /// Returns the headers and the body of any other status. The body is a JSON dictionary.
    /// - Parameters:
    ///   - isBroadcast: whether the request was about broadcast channels, where the identifier has another header.
    ///   - retryAfter: in seconds; nil for an answer without that header.
    ///   - hasDetail: whether the answer has the key `detail` in any case.
    mutating func rejected(
        _ rejection: Rejection,
        _ id: NotificationID,
        isBroadcast: Bool = false,
        retryAfter: Int? = nil,
        hasDetail: Bool = false,
    ) -> (headers: FieldList, body: ByteBuffer) {
        headers.removeAll()
        headers.append(":status", String(rejection.reason.status))
        if isBroadcast {
            headers.append("apns-request-id", id.textAsSent.span, .neverIndexed)
        } else {
            append(id.textAsSent)
        }
        headers.append("content-type", "application/json")
        if let retryAfter { headers.append("retry-after", String(retryAfter)) }
        return (headers, Self.body(rejection, hasDetail: hasDetail || self.hasDetail))
    }

    /// Returns the headers of a 200 for a notification that is kept until a person releases it.
    mutating func captured(_ id: NotificationID, isUnique: Bool = true) -> FieldList {
        var headers = accepted(id, isUnique: isUnique)
        headers.append("carillon-captured", "1")
        return headers
    }

    /// Returns an upstream's answer, with its identifiers.
    /// - Parameters:
    ///   - id: the request's identifier, for an upstream that names none.
    ///   - isUnique: false to leave `apns-unique-id` out.
    mutating func upstreamAnswer(
        _ answer: UpstreamAnswer,
        _ id: NotificationID,
        isUnique: Bool = true,
    ) -> (headers: FieldList, body: ByteBuffer?) {
        headers.removeAll()
        headers.append(":status", String(answer.status))
        if let id = answer.apnsID {
            headers.append("apns-id", id, .neverIndexed)
        } else {
            append(id.textAsSent)
        }
        if isUnique, let unique = answer.uniqueID { headers.append("apns-unique-id", unique, .neverIndexed) }
        guard let reason = answer.reason else { return (headers, nil) }
        headers.append("content-type", "application/json")
        if let retryAfter = answer.retryAfter { headers.append("retry-after", String(retryAfter)) }
        var text = #"{"reason":\#(JSONString.quoted(reason))"#
        if let timestamp = answer.timestamp { text += #","timestamp":\#(timestamp)"# }
        if hasDetail, let detail = answer.detail { text += #","detail":\#(JSONString.quoted(detail))"# }
        return (headers, ByteBuffer(string: text + "}"))
    }

    /// Returns the headers of an answer about broadcast channels. Its identifier has another name (docs/channels.md).
    mutating func ofChannels(
        _ status: Int,
        _ id: NotificationID,
        channel: ChannelID? = nil,
        isUnique: Bool = false,
        hasBody: Bool = false,
    ) -> FieldList {
        headers.removeAll()
        headers.append(":status", String(status))
        headers.append("apns-request-id", id.textAsSent.span, .neverIndexed)
        if let channel { headers.append("apns-channel-id", channel.rawValue, .neverIndexed) }
        if isUnique, environment == .development {
            headers.append("apns-unique-id", id.text.span, .neverIndexed)
        }
        if hasBody { headers.append("content-type", "application/json") }
        return headers
    }

    /// Writes the identifier with the request's spelling (Table 8-3). It is written without indexing, because its
    /// value does not repeat and would fill the peer's header table.
    private mutating func append(_ id: InlineArray<36, UInt8>) {
        headers.append("apns-id", id.span, .neverIndexed)
    }

    /// Returns the dictionary of Table 8-5. GOAWAY contains it too. `detail` helps developers. A timestamp is at most
    /// 2^63 - 1, which is also the latest moment that the stores keep: many clients read numbers with a sign.
    static func body(_ rejection: Rejection, hasDetail: Bool) -> ByteBuffer {
        var text = #"{"reason":"\#(rejection.reason.rawValue)""#
        if let timestamp = rejection.timestamp { text += #","timestamp":\#(min(timestamp, UInt64(Int64.max)))"# }
        if hasDetail, let detail = rejection.detail {
            text += #","detail":\#(JSONString.quoted(detail))"#
        }
        text += "}"
        return ByteBuffer(string: text)
    }
}
