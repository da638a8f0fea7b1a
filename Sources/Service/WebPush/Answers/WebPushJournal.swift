import Delivery
import HTTPTypes
import Matching
import Notifications

/// Shows the requests of the development environment to the journal. No record has an endpoint or a signature.
struct WebPushJournal: Sendable {
    private let observation: RequestObservation
    private let accounts: any Accounts
    private let clock: ServiceClock

    init(_ observation: RequestObservation, accounts: any Accounts, clock: ServiceClock) {
        (self.observation, self.accounts, self.clock) = (observation, accounts, clock)
    }

    /// What is known of a request for a subscription.
    struct Record: Sendable {
        let target: EndpointTarget
        let headers: HTTPFields
        let connection: UInt64
        let id: NotificationID
        /// The size of the body, once it has arrived.
        var bytes: Int?
        var topic: String?
    }

    /// - Returns: the connection's number; 0 if nobody observes.
    func connectionOpened() -> UInt64 { observation.isActive ? observation.observer.connectionOpened() : 0 }

    /// Notes a message that is handed to `Delivery`.
    /// - Returns: its number; nil if nobody observes.
    func accepted(_ record: Record) -> UInt64? { decided(record, status: 201) }

    /// Notes a request that was refused.
    func refused(_ record: Record, _ status: Int) {
        if let number = decided(record, status: status) { answered(number, status) }
    }

    func answered(_ number: UInt64, _ status: Int) {
        observation.observer.answered(number, RequestAnswer(status: status))
    }

    private func decided(_ record: Record, status: Int) -> UInt64? {
        guard observation.isActive, record.target.environment == .development else { return nil }
        let (app, device, name): (App?, DeviceID?, String) =
            switch record.target {
            case .device(let subscription):
                (
                    accounts.current.app(subscription.destination.app), subscription.destination.device,
                    subscription.name
                )
            case .phone(let phone): (phone.app, nil, phone.endpoint.name)
            }
        var facts = RequestFacts(
            time: clock.time, connection: record.connection, environment: record.target.environment,
            interface: .webPush, team: app?.team, headers: Self.headers(record.headers), device: device,
            topic: app?.bundleID.rawValue, pushType: PushType.webPush.rawValue, apnsID: record.id,
            collapseID: record.topic, status: status)
        facts.machineTime = clock.machineTime
        facts.subscription = name
        facts.isForwarded = device == nil
        facts.messageBytes = record.bytes
        return observation.observer.decided(facts).number
    }

    /// The fields without the signature of the token.
    private static func headers(_ fields: HTTPFields) -> [RequestFacts.Header] {
        fields.map { field in
            let isToken = field.name == .authorization
            return RequestFacts.Header(
                name: field.name.canonicalName, value: isToken ? withoutSignature(field.value) : field.value)
        }
    }

    /// The value up to the signature, which is behind the second period. A value of another form may be a secret of any kind, so
    /// only its scheme is kept.
    private static func withoutSignature(_ value: String) -> String {
        let parts = value.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return String(value.prefix { $0 != " " }) }
        return parts[0] + "." + parts[1]
    }
}
