import Delivery
import HTTP2
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

    /// The content of `:path` (Guide, Table 8-1).
    enum Path {
        case bad
        case withoutDeviceToken
        case deviceToken(DeviceToken)
        /// A device token of another length than the service's own. It can only be one that a test has named.
        case otherDeviceToken([UInt8])
        /// The path does not contain a device token in its place. The sentence says what is wrong.
        case badDeviceToken(String)
        /// The path of a broadcast; ``ProviderRequest/broadcast`` has its values.
        case broadcast
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

    var isPost = false
    /// Whether the answer must not have a body (RFC 9110, 9.3.2).
    var isHead = false
    var isDelete = false
    var path = Path.bad
    var sender = Sender.unknown
    var id = Field<NotificationID>.absent
    var expiration = Field<Expiration>.absent
    var priority = Field<Priority>.absent
    var pushType = Field<PushType>.absent
    var collapseID = Field<CollapseIdentifier>.absent
    var topic = Field<AddressedTopic>.absent
    var isCompressed = false
    /// The values that only a broadcast has; nil for a notification to one device.
    var broadcast: BroadcastRequest?
    /// The values that only a request has that goes to an upstream; nil for a notification that is delivered here.
    var forwarded: ForwardedRequest?
    /// The gateways that the request has passed; empty for most requests.
    var via = ""
    /// The values of the headers as they came, if an upstream compares its answers with this service's.
    var texts: [RequestHeader: String]?
    /// The values that only a request with the key of a grant has; nil for all others.
    var granted: GrantedRequest?
    /// The values that only a request about handles or grants has; nil for notifications.
    var asked: GatewayRequest?
    /// The first header of the API that occurs twice; nil if none does.
    var repeated: RequestHeader?
    var body: [UInt8] = []
    /// How many bytes of the body have arrived, whether they were kept or not.
    var received = 0
    /// The bytes of the headers that were read.
    var headerBytes = 0
    /// As how much memory, in KiB, the request counts among those of unknown senders; 0 if its sender was known.
    var untrustedWeight = 0
    /// The first violation of the Guide's rules for encoding; checked with `strict` only.
    var encodingFault: EncodingPractice.Fault?
    /// When the request began, in whole seconds.
    let began: NIODeadline
    /// The decision that follows from the headers alone; nil until all headers have arrived.
    var verdict: Result<Addressed, Rejection>?
    /// The version of the accounts for that decision.
    var accountsVersion: UInt64 = 0
    /// Whether the request was answered, or passed on so that its answer will follow.
    var isHandled = false
    var isAnswered = false
    /// Whether a rehearsal leaves `apns-unique-id` out of the answer.
    var omitsUniqueID = false
    /// Whether the request has ended, with its body.
    var hasEnded = false
    /// When it was answered, in whole seconds, if it had not ended.
    var cutShort: NIODeadline?
    /// The copy for observers; nil if nobody observes the request.
    var watched: WatchedRequest?

    private var seen: UInt16 = 0

    init(began: NIODeadline) { self.began = began }

    /// Returns what to do if the request has taken too long; nil if it has time left.
    func overdue(after timeout: TimeAmount, now: NIODeadline) -> OverdueRequest? {
        OverdueRequest(began: began, isAnswered: isAnswered, cutShort: cutShort, timeout: timeout, now: now)
    }

    /// The destination that the headers name, after all checks that need no body.
    struct Addressed {
        var destination: Destination
        var generation: UInt32
        var topic: AddressedTopic
        /// The request's device token. If its length is not that of the service's own tokens, the service's token for the
        /// same destination.
        var deviceToken: DeviceToken
        /// The Live Activity that the device token is for.
        var activity: DeviceTokenContents.Activity?

        /// Which Live Activities the request may change; nil if its device token is not one of Live Activities.
        var target: ActivityTarget? {
            if let activity { return .one(activity.id) }
            return TokenNumber.isFor(.liveActivity, generation) ? .start : nil
        }
    }

    /// Makes the decision that follows from the headers alone.
    func decide(by rules: RequestRules) {
        if let broadcast { return broadcast.decide(self, by: rules) }
        if let granted, !granted.isResolved { return rules.decide(self, granted) }
        do throws(Rejection) {
            if granted?.address != nil {
                verdict = .success(try rules.address(self))
            } else {
                forwarded = try rules.forwarding(of: self)
                verdict = forwarded == nil ? .success(try rules.check(self)) : nil
            }
        } catch {
            verdict = .failure(error)
        }
    }

    /// Whether the request was refused only because no known key opens its device token.
    var hasUnopenedToken: Bool {
        guard case .deviceToken = path, case .failure(let rejection) = verdict else { return false }
        return rejection.reason == .badDeviceToken
    }

    /// Whether the request passed the shape checks, so that its sender was checked.
    func hasShape(by rules: RequestRules) -> Bool {
        if granted?.refusal != nil { return rules.hasShape(self) }
        return switch broadcast?.verdict.map({ $0.map { _ in } }) ?? verdict?.map({ _ in }) {
        case .failure: rules.hasShape(self)
        case .success, nil: true
        }
    }

    /// Records that the request has a header. If it has one a second time, records it as repeated.
    func recordHeader(_ header: RequestHeader) {
        if seen & header.rawValue != 0, header != .via { repeated = repeated ?? header }
        seen |= header.rawValue
    }

    /// Gives the request an identifier if it has none.
    func identify(using random: inout IdentifierRandom) -> NotificationID {
        if let broadcast { return broadcast.identify(using: &random) }
        return id.valueOrRandom(using: &random)
    }

    /// Returns the subject that the delivery log records for a rejected request.
    func subject(_ id: NotificationID) -> NotificationSubject {
        let address: NotificationSubject.Address
        if case .success(let addressed) = verdict {
            address = .destination(addressed.destination, generation: addressed.generation)
        } else if let forwarded {
            address = .deviceToken(forwarded.token)
        } else if case .deviceToken(let token) = path {
            address = .deviceToken(token.array)
        } else if case .otherDeviceToken(let token) = path {
            address = .deviceToken(token)
        } else {
            address = .unknown
        }
        let topic = broadcast?.bundleID?.topic(.liveActivity) ?? topic.present?.name ?? ""
        return NotificationSubject(id: id, address: address, topic: topic)
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
    mutating func valueOrRandom(using random: inout IdentifierRandom) -> NotificationID {
        let id = present ?? .random(using: &random)
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
