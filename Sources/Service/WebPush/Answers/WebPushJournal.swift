import Delivery
import HTTPTypes
import Matching
import Notifications

/// Shows the requests of the development environment to the journal. No record has an endpoint, a device token or a signature.
struct WebPushJournal: Sendable {
    private let tools: WebPushTools
    private let accounts: any Accounts
    private let clock: ServiceClock

    init(_ tools: WebPushTools, accounts: any Accounts, clock: ServiceClock) {
        (self.tools, self.accounts, self.clock) = (tools, accounts, clock)
    }

    /// What is known of a request for a subscription, or to a relay's URL.
    struct Record: Sendable {
        let target: EndpointTarget
        let headers: HTTPFields
        let connection: UInt64
        let id: NotificationID
        /// The size of the body, once it has arrived.
        var bytes: Int?
        /// The message, once its fields were read.
        var message: WebPushMessage?
    }

    private var observation: RequestObservation { tools.observation }

    /// - Returns: the connection's number; 0 if nobody observes.
    func connectionOpened() -> UInt64 { observation.isActive ? observation.observer.connectionOpened() : 0 }

    /// The virtual device's subscription that an endpoint led to before it ended; nil if nobody observes, or for any other.
    func ended(_ endpoint: EndpointID) -> WebPushSubscription? { observation.isActive ? tools.ended(endpoint) : nil }

    /// - Parameters:
    ///   - reason: why the message was refused, in a sentence; nil if it was accepted.
    ///   - hidesAcceptance: whether the message was accepted, and a rehearsal answers otherwise.
    func answered(_ number: UInt64, _ status: Int, reason: String?, hidesAcceptance: Bool) {
        var answer = RequestAnswer(status: status, reason: reason)
        answer.hidesAcceptance = hidesAcceptance
        observation.observer.answered(number, answer)
    }

    /// Notes that a request gets no answer, because of a rehearsal.
    /// - Parameter isDiscarded: whether its message goes to nobody.
    func unanswered(_ number: UInt64, isDiscarded: Bool) {
        observation.observer.unanswered(number, isDiscarded: isDiscarded)
    }

    /// Notes a request about which the API has decided.
    /// - Parameters:
    ///   - status: 201 if its message is to be handed on.
    ///   - reason: why it is not, in a sentence.
    /// - Returns: its number, and perhaps what a rehearsal wants; nil if nobody observes.
    func decided(_ record: Record, _ status: Int, reason: String?) -> RequestDecision? {
        guard observation.isActive, record.target.environment == .development else { return nil }
        let (app, destination, name): (App?, Destination?, String?) =
            switch record.target {
            case .device(let subscription):
                (
                    accounts.current.app(subscription.destination.app), subscription.destination, subscription.name
                )
            case .phone(let phone): (phone.app, nil, phone.endpoint.name)
            case .relay(let target): (target.app, nil, nil)
            }
        var facts = RequestFacts(
            time: clock.time, connection: record.connection, environment: record.target.environment,
            interface: .webPush, team: app?.team, headers: Self.headers(record.headers),
            device: destination?.device,
            topic: app?.bundleID.rawValue, pushType: PushType.webPush.rawValue, apnsID: record.id,
            collapseID: record.message?.topic, status: status)
        facts.machineTime = clock.machineTime
        facts.reason = reason
        facts.subscription = name
        facts.isForwarded = destination == nil
        facts.messageBytes = record.bytes
        if let message = record.message, let destination { facts.text = tools.text(message, destination) }
        return observation.observer.decided(facts)
    }

    /// The fields without the signature of the token.
    private static func headers(_ fields: HTTPFields) -> [RequestFacts.Header] {
        fields.map { field in
            field.name == .authorization
                ? RequestFacts.Header(authorization: field.value)
                : RequestFacts.Header(name: field.name.canonicalName, value: field.value)
        }
    }
}
