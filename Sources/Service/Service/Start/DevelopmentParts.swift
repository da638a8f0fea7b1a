import Connections
import Courier
import Delivery
import Dispatch
import Foundation
import Journal
import Logging
import Management
import Matching
import Notifications
import ProviderAPI
import Rehearsals
import Storage
import Synchronization
import Trust
import VirtualDevices
import WebPush

/// The team and the app that the first start has made. They are known once the service is ready.
private final class FirstMade: Sendable {
    private let made = Mutex<(team: TeamID, bundleID: BundleID)?>(nil)

    var value: (team: TeamID, bundleID: BundleID)? { made.withLock { $0 } }

    func set(_ value: (team: TeamID, bundleID: BundleID)) { made.withLock { $0 = value } }
}

/// The tools for tests. They exist only if the service serves the development environment.
final class DevelopmentParts: Sendable {
    let journal: RequestJournal
    let rehearsals: RehearsalDirector
    let observation: RequestObservation
    let names = NamedTokens()
    let devices: VirtualDevices
    let captures: CapturedRequests
    let certificates: RehearsedCertificates
    /// Makes what the service does not know; nil unless `--accept any` is set.
    let acceptAny: AcceptAny?
    private let acceptAnyFrom: [AddressRange]
    private let store: any Store
    private let log: any DeliveryLog
    private let clock: ServiceClock
    private let forwarder = Mutex<(any Forwarding)?>(nil)
    /// The service's addresses, as fixtures contain them. They are known once all listeners are open.
    private let announcement = Mutex<JSONValue>([:])
    /// What the first start has made.
    private let first = FirstMade()
    private let providerAPI = Mutex<ProviderAPI?>(nil)

    /// Makes the tools, and removes what the virtual devices of an earlier start have left in the store.
    /// - Returns: nil if the service does not serve the development environment.
    static func make(
        _ base: ServiceBase,
        _ lines: LineParts,
        _ certificate: ServerCertificate,
    ) async -> DevelopmentParts? {
        let file = base.settings.store == .memory ? nil : VirtualDeviceFile(base.folder)
        do throws(StoreError) {
            try await file?.endEarlier(in: base.store, at: base.clock.time)
        } catch {
            // Go on, because the next start tries this again.
            base.logger.warning(
                "Virtual devices of an earlier start are still in the store", metadata: ["cause": "\(error.cause)"])
        }
        guard let journal = base.log.journal else { return nil }
        let root = await RehearsedCertificates.keepRoot(
            beside: base.secrets.authority, in: base.store.secrets, now: base.clock.machineTime)
        return DevelopmentParts(base, lines, certificate, journal, file, otherRoot: root)
    }

    private init(
        _ base: ServiceBase,
        _ lines: LineParts,
        _ certificate: ServerCertificate,
        _ journal: RequestJournal,
        _ file: VirtualDeviceFile?,
        otherRoot: String?,
    ) {
        self.journal = journal
        let machine = base.clock
        certificates = RehearsedCertificates(
            certificate, base.secrets.authority, names: base.serverNames, keptRoot: otherRoot
        ) {
            machine.machineTime
        }
        store = base.store
        (log, clock) = (base.log.events, base.clock)
        captures = CapturedRequests(base.settings.store == .memory ? nil : base.folder.capturedFolder) {
            journal.nextNumber()
        }
        // The requests of an earlier start keep their numbers.
        journal.beginNumbers(after: captures.lastNumber)
        // Rehearsals use the machine's time, which a virtual clock does not advance.
        rehearsals = RehearsalDirector(
            next: JournalingObserver(journal: journal, clock: base.clock), limit: base.settings.activeRehearsals
        ) {
            .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds))
        }
        observation = RequestObservation(rehearsals)
        rehearsals.direct(observation)
        devices = VirtualDevices(
            registrations: store, switchboard: lines.switchboard, broadcasts: lines.broadcasts,
            tokenKeys: base.secrets.tokenKeys.keys, names: names, clock: base.clock,
            tokensByService: base.settings.tokensByService, seenLimit: base.settings.acceptLimits.devices,
            remember: { try file?.add($0) })
        acceptAnyFrom = base.settings.acceptAnyFrom
        acceptAny =
            base.settings.accept == .any
            ? AcceptAny(
                accounts: store, devices: devices,
                untouched: UntouchedApp(
                    registrations: store, broadcasts: lines.broadcasts, devices: devices,
                    first: { [first] in first.value }), clock: base.clock, limits: base.settings.acceptLimits,
                logger: base.logger) : nil
        journal.setKeep(base.settings.keptRequests)
        observation.set(.journal, base.settings.keptRequests > 0)
    }

    /// Sets the provider API of the development environment. The management API sends notifications by its rules.
    func setProviderAPI(_ api: ProviderAPI?) { providerAPI.withLock { $0 = api } }

    var webPushTools: WebPushTools {
        var firstSight: WebPushTools.FirstSight?
        if let acceptAny { firstSight = { endpoint in await acceptAny.subscription(of: endpoint) } }
        return WebPushTools(
            observation, text: { [devices] in devices.text(of: $0, to: $1) },
            ended: { [devices] in devices.subscription(of: $0) }, firstSight: firstSight, acceptAnyFrom: acceptAnyFrom)
    }

    /// Lets virtual devices have subscriptions of Web Push.
    func useWebPush(_ endpoints: WebPushEndpoints) {
        devices.use(
            EndpointMaking(store, phones: store.handleEndpoints) { wanted, app in
                guard let origin = endpoints.origin,
                    let made = endpoints.make(
                        wanted.name, of: app, vapid: wanted.vapid, isPlain: wanted.isPlain, named: wanted.endpoint)
                else { return nil }
                let url = wanted.endpoint?.url(at: origin) ?? endpoints.url(of: made, at: origin)
                return (made, url)
            })
    }

    /// Sets what forwards released requests.
    func setForwarder(_ forwarder: any Forwarding) { self.forwarder.withLock { $0 = forwarder } }

    /// Forwards a captured request to the upstream that its app has now.
    private func release(_ number: UInt64) async throws(StoreError) -> (id: String, answer: ForwardingAnswer) {
        guard let captured = captures[number] else {
            throw StoreError(.missing, "There is no captured request \(number).")
        }
        guard let upstream = store.current.upstreams[captured.place], upstream.credentials != .passthrough,
            let forwarder = forwarder.withLock({ $0 })
        else {
            throw StoreError(
                .conflict, "The app \(captured.place.bundleID) has no upstream now that it can be released to.")
        }
        let answer = await forwarder.forward(captured.push, to: upstream)
        for step in answer.steps(refusal: .serviceUnavailable) {
            log.record(DeliveryEvent(time: clock.time, step: step, subject: captured.subject))
        }
        return (captured.headers.id, answer)
    }

    /// The registrations and mailboxes for `Delivery`.
    func ports(_ store: any Store) -> (any Registrations, any Mailboxes) {
        guard acceptAny != nil else { return (store, store) }
        return (SeenRegistrations(store, devices), SeenMailboxes(store, devices))
    }

    /// The address of an environment's provider API; nil before all listeners are open, or if there is none.
    func providerAddress(_ environment: Environment) -> String? {
        announcement.withLock { $0 }.members[environment.rawValue]?.members["provider"]?.string
    }

    func announce(_ description: ServiceDescription) {
        var members: JSONMembers = ["ca": .string(description.ca)]
        // Encoding cannot fail, because the values contain only text.
        members["development"] = description.development.flatMap { try? JSONValue(encoding: $0) }
        members["production"] = description.production.flatMap { try? JSONValue(encoding: $0) }
        if let management = description.management { members["management"] = ["url": .string(management.url)] }
        if let pem = FileManager.default.contents(atPath: description.ca) {
            members["caPEM"] = .string(String(decoding: pem, as: UTF8.self))
        }
        let announced = JSONValue.object(members)
        announcement.withLock { $0 = announced }
        if let team = description.key.flatMap({ TeamID(rawValue: $0.teamID) }),
            let bundleID = BundleID(rawValue: FirstStart.bundleID)
        {
            first.set((team: team, bundleID: bundleID))
        }
    }

    var forManagement: ManagementTesting {
        ManagementTesting(
            journal: journal, observation: observation, devices: devices, unknownKeys: acceptAny?.keys,
            mailboxes: store,
            send: { [self] in await send($0) }, check: { [self] in await check($0) },
            broadcast: { [self] in await send($0) }, checkBroadcast: { [self] in await check($0) },
            release: { [self] in try await release($0) },
            service: { [self] in announcement.withLock { $0 } }, first: { [first] in first.value },
            otherAuthority: { [certificates] in try certificates.otherRootPEM() },
            obstacle: { [certificates] in certificates.obstacle($0) })
    }

    private func send(
        _ message: ManagementMessages.NewNotification
    ) async -> (id: NotificationID, outcome: Outcome) {
        guard let api = providerAPI.withLock({ $0 }) else { return Self.unavailable }
        var number: UInt64?
        let (id, outcome) = await api.submit(Self.direct(message)) { number = journal.append($0) }
        if let number {
            switch outcome {
            case .accepted: journal.answered(number, RequestAnswer(status: 200))
            case .rejected(let rejection): journal.answered(number, RequestAnswer(rejection))
            }
        }
        return (id, outcome)
    }

    private func send(
        _ message: ManagementMessages.NewBroadcast
    ) async -> (id: NotificationID, outcome: Outcome) {
        guard let api = providerAPI.withLock({ $0 }) else { return Self.unavailable }
        var number: UInt64?
        let (id, result) = await api.submit(Self.direct(message)) { number = journal.append($0) }
        switch result {
        case .success(let outcome):
            if let number {
                journal.end(number, as: outcome)
                journal.answered(number, RequestAnswer(status: 200))
            }
            return (id, .accepted)
        case .failure(let rejection):
            if let number { journal.answered(number, RequestAnswer(rejection)) }
            return (id, .rejected(rejection))
        }
    }

    /// The answer while there is no provider API.
    private static var unavailable: (id: NotificationID, outcome: Outcome) {
        var random = SystemRandomNumberGenerator()
        return (.random(using: &random), .rejected(Rejection(.serviceUnavailable)))
    }

    private func check(_ message: ManagementMessages.NewNotification) async -> ManagementTesting.Check? {
        await providerAPI.withLock { $0 }?.check(Self.direct(message)).forManagement
    }

    private func check(_ message: ManagementMessages.NewBroadcast) async -> ManagementTesting.Check? {
        await providerAPI.withLock { $0 }?.check(Self.direct(message)).forManagement
    }

    private static func direct(_ message: ManagementMessages.NewBroadcast) -> DirectBroadcast {
        var broadcast = DirectBroadcast(
            bundleID: message.bundleID, channelID: message.channelID, payload: Array(message.payload.text.utf8))
        broadcast.id = message.id
        broadcast.expiration = message.expiration.map { UInt64(clamping: $0) }
        broadcast.priority = message.priority
        broadcast.pushType = message.pushType
        return broadcast
    }

    private static func direct(_ message: ManagementMessages.NewNotification) -> DirectNotification {
        var notification = DirectNotification(
            token: message.token, topic: message.topic, payload: Array(message.payload.text.utf8))
        notification.id = message.id
        notification.expiration = message.expiration.map { UInt64(clamping: $0) }
        notification.priority = message.priority
        notification.collapseID = message.collapseID
        notification.pushType = message.pushType
        return notification
    }
}

extension DirectCheck {
    fileprivate var forManagement: ManagementTesting.Check {
        ManagementTesting.Check(
            rejection: rejection, strictRejection: strictRejection, bytes: bytes, maximumBytes: maximumBytes)
    }
}
