package import NIOCore

/// A request that goes to the service with its headers unchanged and unchecked.
package struct PushRequest: Sendable, Hashable {
    /// The hexadecimal digits in `:path`.
    package var deviceToken: String
    package var topic: String?
    /// A JSON dictionary in UTF-8. A buffer, because many requests share one payload.
    package var payload: ByteBuffer
    package var id: String?
    package var expiration: String?
    package var priority: String?
    package var collapseID: String?
    package var pushType: String?
    /// What the request is for. ``deviceToken`` is only of notifications to one device.
    package var route = Route.device
    /// The identifier of a broadcast channel, for the other routes.
    package var channelID: String?
    /// The value of `authorization`, with credentials that pass on the client's provider token.
    package var authorization: String?
    /// The gateways that the request has passed (RFC 9110, 7.6.3).
    package var via: String?

    /// What a request is for, which decides its method, its path and the name of its identifier's header.
    package enum Route: Sendable, Hashable {
        /// A notification to one device.
        case device
        /// A notification to a broadcast channel of the app with this bundle ID.
        case broadcast(bundleID: String)
        /// The management of broadcast channels of the app with this bundle ID.
        case channels(ChannelAction, bundleID: String)
    }

    package enum ChannelAction: Sendable, Hashable {
        case create, read, delete, list
    }

    package init(
        deviceToken: String,
        topic: String?,
        payload: ByteBuffer,
        id: String? = nil,
        expiration: String? = nil,
        priority: String? = nil,
        collapseID: String? = nil,
        pushType: String? = nil,
    ) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.payload = payload
        self.id = id
        self.expiration = expiration
        self.priority = priority
        self.collapseID = collapseID
        self.pushType = pushType
    }
}

extension PushRequest.Route {
    var method: StaticString {
        switch self {
        case .device, .broadcast, .channels(.create, _): "POST"
        case .channels(.read, _), .channels(.list, _): "GET"
        case .channels(.delete, _): "DELETE"
        }
    }

    var hasBody: Bool {
        switch self {
        case .device, .broadcast, .channels(.create, _): true
        case .channels: false
        }
    }

    /// The header with the request's identifier, in the request and in its answer.
    var identifierHeader: StaticString {
        switch self {
        case .device: "apns-id"
        case .broadcast, .channels: "apns-request-id"
        }
    }
}

extension PushRequest {
    /// The reason why the request cannot be sent: a value that an HTTP header cannot hold (RFC 9113, 8.2.1 and
    /// 8.3.1). It is nil if the request can be sent, as it always is for a request made from a `PushNotification`.
    /// All else is left to the service.
    package var problem: ProviderError? {
        guard deviceToken.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            return ProviderError(.badNotification, "The device token contains a character that paths cannot have.")
        }
        switch route {
        case .device: break
        case .broadcast(let bundleID), .channels(_, let bundleID):
            guard !bundleID.isEmpty, bundleID.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") })
            else {
                return ProviderError(.badNotification, "The bundle ID contains a character that paths cannot have.")
            }
        }
        // Without a list of them all: this is done for each notification.
        return problem("channel identifier", channelID) ?? problem("topic", topic) ?? problem("identifier", id)
            ?? problem("expiration", expiration) ?? problem("priority", priority)
            ?? problem("collapse identifier", collapseID) ?? problem("push type", pushType)
            ?? problem("provider token", authorization) ?? problem("via", via)
    }

    private func problem(_ name: StaticString, _ value: String?) -> ProviderError? {
        guard let value, !Self.canBeHeader(value.utf8) else { return nil }
        return ProviderError(.badNotification, "The \(name) contains a character that headers cannot have.")
    }

    /// Whether the value has no control characters except tabs, and no white space at either end.
    private static func canBeHeader(_ value: String.UTF8View) -> Bool {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        return value.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
            && value.first.map(isSpace) != true && value.last.map(isSpace) != true
    }
}
