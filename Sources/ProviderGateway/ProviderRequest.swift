import Delivery
import HTTP2
import NIOCore
import Notifications
import Trust

/// One request as far as it has been read: every header as its value, none as text unless it is kept.
struct ProviderRequest {
    /// A header's value: not there, good, or bad with a sentence that says why.
    enum Field<Value> {
        case absent
        case value(Value)
        case bad(String)
    }

    /// What `:path` named (Guide, Table 8-1).
    enum Path {
        case bad
        case withoutDeviceToken
        case deviceToken(DeviceToken)
        /// Bytes that can only be a device token that a test has named: the service gives out none of this size.
        case otherDeviceToken([UInt8])
        /// Something stands in the place of the device token that is none.
        case badDeviceToken(String)
    }

    /// Who sends it, by the connection's certificate or the request's provider token.
    enum Sender {
        case unknown
        case token(VerifiedProviderToken)
        case certificate(ProviderIdentity)
        case rejected(Rejection)
        /// Whoever has the key of the management API, who needs no provider trust.
        case management
        /// Nobody can be trusted now: the accounts may have changed without this node's knowing.
        case undecided
    }

    var isPost = false
    var path = Path.bad
    var sender = Sender.unknown
    var id = Field<NotificationID>.absent
    var expiration = Field<Expiration>.absent
    var priority = Field<Priority>.absent
    var pushType = Field<PushType>.absent
    var collapseID = Field<CollapseIdentifier>.absent
    var topic = Field<AddressedTopic>.absent
    var isCompressed = false
    /// The first header of the API that stood in the request twice.
    var repeated: RequestHeader?
    var body: [UInt8] = []
    /// All bytes of the body that came, kept or not.
    var received = 0
    /// The first thing that the Guide wants encoded otherwise; looked for with `strict` alone.
    var encodingFault: EncodingPractice.Fault?
    /// When it began, to the second.
    let began: NIODeadline
    /// What the headers alone decided; nil until they have ended.
    var verdict: Result<Addressed, Rejection>?
    /// The version of the accounts by which they did.
    var accountsVersion: UInt64 = 0
    /// It has been answered, or handed over to be answered.
    var isSettled = false
    var isAnswered = false
    /// Nil unless somebody observes.
    var watched: WatchedRequest?

    private var seen: UInt16 = 0

    init(began: NIODeadline) { self.began = began }

    /// What is to be done about it now; nil while it is in time.
    func overdue(after timeout: TimeAmount, now: NIODeadline) -> OverdueRequest? {
        OverdueRequest(began: began, isAnswered: isAnswered, timeout: timeout, now: now)
    }

    /// What the headers address, once they have passed every check that needs no body.
    struct Addressed {
        var destination: Destination
        var generation: UInt32
        var topic: AddressedTopic
        /// As the provider named it, or the one that the service sealed in the place of one of another size.
        var deviceToken: DeviceToken
    }

    /// Decides what the headers alone decide.
    mutating func decide(by rules: RequestRules) {
        do throws(Rejection) {
            verdict = .success(try rules.check(self))
        } catch {
            verdict = .failure(error)
        }
    }

    /// Whether it is refused for a device token that no known key opens, and for nothing else so far.
    var hasUnopenedToken: Bool {
        guard case .deviceToken = path, case .failure(let rejection) = verdict else { return false }
        return rejection.reason == .badDeviceToken
    }

    /// Whether it came as far as who sends it: one that is refused for its shape alone did not.
    func wasLookedAt(by rules: RequestRules) -> Bool {
        if case .failure = verdict { rules.hasShape(self) } else { true }
    }

    /// Notes that a header is there; the second time it counts as repeated.
    mutating func note(_ header: RequestHeader) {
        if seen & header.rawValue != 0 { repeated = repeated ?? header }
        seen |= header.rawValue
    }

    /// What the delivery log is told of a request that is rejected.
    func subject(_ id: NotificationID) -> NotificationSubject {
        let address: NotificationSubject.Address
        if case .success(let addressed) = verdict {
            address = .destination(addressed.destination, generation: addressed.generation)
        } else if case .deviceToken(let token) = path {
            address = .deviceToken(token.array)
        } else if case .otherDeviceToken(let token) = path {
            address = .deviceToken(token)
        } else {
            address = .unknown
        }
        return NotificationSubject(id: id, address: address, topic: topic.present?.name ?? "")
    }
}
