import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Trust

/// A request, with what has been read so far. Header values are parsed, and not kept as text unless that is needed.
///
/// A class, because a request has many values and is handed from rule to rule: copies would cost a twentieth of a push.
final class ProviderRequest {
    /// A header's value: missing, valid, or invalid with a sentence that says why.
    enum Field<Value> {
        case absent
        case value(Value)
        case bad(String)
    }

    enum Method {
        case post, head, delete, other
    }

    /// The content of `:path` (Guide, Table 8-1).
    enum Path {
        case bad
        case withoutDeviceToken
        case deviceToken(DeviceToken)
        /// A device token of another length than the service's own. It can only be one that a test has named.
        case otherDeviceToken([UInt8])
        /// The path does not contain a device token in its place. The sentence says what is wrong.
        case badDeviceToken(String)
        /// The path of a broadcast, with its bundle ID; nil if there is none.
        case broadcast(BundleID?)
        /// A path about handles or grants (docs/gateway.md).
        case handles(String)
    }

    /// The sender, from the connection's certificate or the request's provider token.
    enum Sender {
        case unknown
        case token(VerifiedProviderToken)
        case certificate(ProviderIdentity)
        case rejected(Rejection)
        /// A client with the key of the management API. It needs no provider trust.
        case management
        /// It is unknown who sent the request, because the accounts may have changed without this node's knowledge.
        case undecided
    }

    // MARK: What was read

    var method = Method.other
    var path = Path.bad
    var sender = Sender.unknown
    /// The value of `apns-id`; of a broadcast, that of `apns-request-id`.
    var id = Field<NotificationID>.absent
    var expiration = Field<Expiration>.absent
    var priority = Field<Priority>.absent
    var pushType = Field<PushType>.absent
    var collapseID = Field<CollapseIdentifier>.absent
    var topic = Field<AddressedTopic>.absent
    /// Only of a broadcast.
    var channel = Field<ChannelID>.absent
    /// The client key of a request about handles.
    var clientKey: String?
    var isCompressed = false
    /// The gateways that the request has passed; empty for most requests.
    var via = ""
    /// The values of the headers as they came, if an upstream compares its answers with this service's.
    var texts: [RequestHeader: String]?
    /// The first header of the API that occurs twice; nil if none does.
    private(set) var repeated: RequestHeader?
    private var seen: UInt16 = 0
    /// The bytes of the headers that were read.
    var headerBytes = 0
    /// The first violation of the Guide's rules for encoding; checked with `strict` only.
    var encodingFault: EncodingPractice.Fault?

    // MARK: What was decided

    /// What the request asks for, as its fields say.
    var kind = RequestKind.refusal(Rejection(.internalServerError))
    /// The version of the accounts for that decision.
    var accountsVersion: UInt64 = 0
    /// The handle that the path had in place of a device token, once it has been looked up.
    var handle: Handle?

    // MARK: How far it has come

    /// When the request began, in whole seconds.
    let began: NIODeadline
    var body: [UInt8] = []
    /// How many bytes of the body have arrived, whether they were kept or not.
    var received = 0
    /// As how much memory, in KiB, the request counts among those of unknown senders; 0 if its sender was known.
    var untrustedWeight = 0
    /// Whether the request has ended, with its body.
    var hasEnded = false
    /// Whether the request was answered, or passed on so that its answer will follow.
    var isHandled = false
    var isAnswered = false
    /// When it was answered, in whole seconds, if it had not ended.
    var cutShort: NIODeadline?
    /// Asked about the decision and about the answer; nil for most requests.
    var scene: (any RequestScene)?
    /// Whether `apns-unique-id` is left out of the answer.
    var omitsUniqueID = false

    init(began: NIODeadline) { self.began = began }

    var isHead: Bool { method == .head }

    /// Whether the request is about a broadcast, so that its identifier has another name.
    var isBroadcast: Bool { if case .broadcast = path { true } else { false } }

    /// The grant whose key has signed the request's provider token; nil for other requests.
    var grantID: GrantID? {
        if case .token(let token) = sender { token.grant } else { nil }
    }

    /// Returns what to do if the request has taken too long; nil if it has time left.
    func overdue(after timeout: TimeAmount, now: NIODeadline) -> OverdueRequest? {
        OverdueRequest(began: began, isAnswered: isAnswered, cutShort: cutShort, timeout: timeout, now: now)
    }

    /// Whether the request was refused only because no known key opens its device token.
    var hasUnopenedToken: Bool {
        guard case .deviceToken = path, case .refusal(let rejection) = kind, grantID == nil || handle != nil else {
            return false
        }
        return rejection.reason == .badDeviceToken
    }

    /// Records that the request has a header. If it has one a second time, records it as repeated.
    func recordHeader(_ header: RequestHeader) {
        if seen & header.rawValue != 0, header != .via { repeated = repeated ?? header }
        seen |= header.rawValue
    }

    /// Gives the request an identifier if it has none.
    func identify(using identifiers: inout IdentifierGenerator) -> NotificationID {
        id.valueOrRandom(using: &identifiers)
    }

    /// Returns the subject that the delivery log records for a request that `Delivery` does not see.
    func subject(_ id: NotificationID) -> NotificationSubject {
        NotificationSubject(id: id, address: address, topic: topicName ?? "")
    }

    private var address: NotificationSubject.Address {
        if case .device(let push) = kind { return .destination(push.destination, generation: push.generation) }
        return switch path {
        case .deviceToken(let token): .deviceToken(token.array)
        case .otherDeviceToken(let token): .deviceToken(token)
        case .badDeviceToken, .bad, .withoutDeviceToken, .broadcast, .handles: .unknown
        }
    }

    /// The name of the topic; nil if the request has no valid one. A broadcast's is that of the app's Live Activities.
    var topicName: String? {
        if case .broadcast(let bundleID) = path { return bundleID?.topic(.liveActivity) }
        return topic.present?.name
    }
}

extension ProviderRequest.Field {
    /// The value if it is valid, otherwise nil.
    var present: Value? {
        if case .value(let value) = self { value } else { nil }
    }
}

extension ProviderRequest.Field<NotificationID> {
    /// The identifier. If there is no valid one, it becomes a random one.
    mutating func valueOrRandom(using identifiers: inout IdentifierGenerator) -> NotificationID {
        let id = present ?? .random(using: &identifiers)
        self = .value(id)
        return id
    }
}

extension ProviderRequest.Sender {
    /// The team for which an unknown topic's app is made; nil if none is.
    var team: TeamID? {
        switch self {
        case .token(let token): token.team
        case .certificate(let certificate): certificate.foreignTeam
        case .unknown, .rejected, .management, .undecided: nil
        }
    }

    /// False if the sender is accepted although the service does not know the key or the authority.
    var isVerified: Bool {
        switch self {
        case .token(let token): token.isVerified
        case .certificate(let certificate): certificate.foreignTeam == nil
        case .unknown, .rejected, .management, .undecided: true
        }
    }
}
