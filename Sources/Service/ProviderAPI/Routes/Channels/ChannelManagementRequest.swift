import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

/// A channel management request, as far as it has been read.
struct ChannelManagementRequest {
    var method = ""
    var path = ""
    /// Whether the answer must not have a body (RFC 9110, 9.3.2).
    var isHead: Bool { method == "HEAD" }
    var sender = ProviderRequest.Sender.unknown
    var id = ProviderRequest.Field<NotificationID>.absent
    var channel = ProviderRequest.Field<ChannelID>.absent
    var body: [UInt8] = []
    /// Asked about the decision and about the answer; nil for most requests.
    var scene: (any RequestScene)?
    var isAnswered = false
    /// Whether the request has ended, with its body.
    var hasEnded = false
    /// When it was answered, in whole seconds, if it had not ended.
    var cutShort: NIODeadline?
    /// Whether the request was passed on, and its answer will follow.
    var isUnderWay = false
    /// Whether the request has waited for its app to be made.
    var hasWaited = false
    /// The version of the accounts that the checks of the headers used.
    var accountsVersion: UInt64 = 0
    /// The first header of the API that occurs twice; nil if none does.
    var repeated: RequestHeader?
    private var seen: UInt16 = 0
    /// When the request began, in whole seconds.
    let began: NIODeadline

    init(began: NIODeadline) { self.began = began }

    enum Action: Equatable {
        case create
        case read
        case remove
        case list
    }

    /// Records that the request has a header. If it has one a second time, records it as repeated.
    mutating func recordHeader(_ header: RequestHeader) {
        if seen & header.rawValue != 0 { repeated = repeated ?? header }
        seen |= header.rawValue
    }

    /// Gives the request an identifier if it has none.
    mutating func identify(using identifiers: inout IdentifierGenerator) -> NotificationID {
        id.valueOrRandom(using: &identifiers)
    }

    func overdue(after timeout: TimeAmount, now: NIODeadline) -> OverdueRequest? {
        OverdueRequest(began: began, isAnswered: isAnswered, cutShort: cutShort, timeout: timeout, now: now)
    }

    /// Whether the sender is known, or may turn out to be known.
    var mayHaveTrust: Bool {
        switch sender {
        case .unknown, .rejected: false
        case .token, .certificate, .management, .undecided: true
        }
    }

    /// Whether the request passes the shape checks: the path, the method, and that no header occurs twice.
    var hasShape: Bool { repeated == nil && (try? action()) != nil }

    /// Returns what the path and the method ask for.
    func action() throws(Rejection) -> (Action, bundleID: BundleID?) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps",
            let bundleID = BundleID(rawValue: String(parts[3]))
        else { throw .badChannelPath }
        switch (parts[4], method) {
        case ("channels", "POST"): return (.create, bundleID)
        case ("channels", "GET"): return (.read, bundleID)
        case ("channels", "DELETE"): return (.remove, bundleID)
        case ("channels", _):
            throw Rejection(.methodNotAllowed, detail: "Channels take POST, GET and DELETE.")
        case ("all-channels", "GET"): return (.list, bundleID)
        case ("all-channels", _): throw Rejection(.methodNotAllowed, detail: "The list of channels takes GET.")
        default: throw .badChannelPath
        }
    }

    /// The keys of a request to create a channel.
    private static let names = ["message-storage-policy", "push-type"]

    /// Parses the body of a request to create a channel.
    static func policy(_ body: [UInt8]) throws(Rejection) -> MessageStoragePolicy {
        guard !body.isEmpty else { throw Rejection(.payloadEmpty, detail: "The body must be a JSON dictionary.") }
        guard let object = JSONValue(body), case .object(let members) = object else {
            throw Rejection(.badRequestPayload, detail: "The body is not a JSON dictionary.")
        }
        if let unknown = members.keys.first(where: { !names.containsExactly($0) }) {
            throw Rejection(
                .badRequestParams,
                detail: "\(unknown.prefix(64)) is not a key of this request: it takes \(names.joined(separator: ", "))."
            )
        }
        switch members["push-type"] {
        case .string(let text)? where BroadcastPush.isLiveActivity(text): break
        case nil: throw Rejection(.missingPushType, detail: "The body needs push-type.")
        default: throw Rejection(.invalidPushType, detail: "push-type must be LiveActivity.")
        }
        guard let number = members["message-storage-policy"]?.int64,
            let policy = UInt8(exactly: number).flatMap(MessageStoragePolicy.init(rawValue:))
        else {
            throw Rejection(.badRequestParams, detail: "The body needs message-storage-policy, which is 0 or 1.")
        }
        return policy
    }
}

extension Rejection {
    fileprivate static let badChannelPath = Rejection(
        .badPath, detail: "The path must be /1/apps/, a bundle ID, and /channels or /all-channels.")
}
