import APNSDevice
import Connections
import Logging
import NIOCore
import Storage
import Synchronization

/// UnifiedPush's distributor on the user's session bus: apps of the desktop register here, and get Web Push messages.
///
/// The bus says who an app is: it may register for a bus name that it owns. A message stays on the disk until the app has answered
/// (version 2), or the bus has taken it for the app (version 1).
actor Distributor {
    static let name = "org.unifiedpush.Distributor.Carillon"
    static let path = "/org/unifiedpush/Distributor"

    /// Who has the name of the distributor on the bus.
    enum NameState: String, Sendable, CaseIterable {
        /// There is no bus now.
        case disconnected
        /// Another program has it; this one gets it afterwards.
        case waiting
        case owned
    }

    /// What the bus has said last.
    nonisolated private let name = Mutex(NameState.disconnected)
    nonisolated var nameState: NameState { name.withLock(\.self) }

    private let address: String
    private let user: UInt32
    let store: AgentStore
    let service: any SubscriptionService
    let logger: Logger

    /// The registrations, by the names of their subscriptions.
    var connectors: [String: Connector]
    /// The registrations about which the service is being asked. They count for the limits.
    var pending: [String: Connector] = [:]
    /// Whether the app of all subscriptions has registered since the last connection to the service.
    var isAppRegistered = false
    private(set) var bus: BusConnection?
    /// Who hands the messages of a subscription to its app.
    private var deliveries: [String: Task<Void, Never>] = [:]
    /// The waits before other attempts. One that is cancelled is over.
    private var waits: [String: Task<Void, Never>] = [:]
    private var waitForBus: Task<Void, Never>?
    /// The apps whose messages could not be handed over, so that it is logged once.
    private var reported: Set<String> = []
    private var isBusReported = false
    private var isClosed = false
    /// Whether ``run()`` has tried the bus, and who waits for that.
    private var hasTried = false
    private var whenTried: [CheckedContinuation<Void, Never>] = []

    init(
        address: String,
        user: UInt32,
        store: AgentStore,
        service: any SubscriptionService,
        logger: Logger,
    ) throws(StoreError) {
        (self.address, self.user, self.store, self.service) = (address, user, store, service)
        self.logger = logger
        connectors = try store.connectors()
    }

    // MARK: The bus

    /// Stays connected to the bus until ``close()`` is called. A bus that restarts loses nothing: messages are on the disk.
    func run() async {
        let delay = GrowingDelay(first: AgentLimits.bus.first, longest: AgentLimits.bus.longest)
        var failures = 0
        while !isClosed {
            do {
                let bus = try await open()
                guard !isClosed else { return bus.close() }
                self.bus = bus
                (failures, isBusReported) = (0, false)
                noteTried()
                tryAgain()
                await bus.closed()
                self.bus = nil
                name.withLock { $0 = .disconnected }
                guard !isClosed else { return }
                logger.info("The session bus has ended; the distributor waits for the next one")
            } catch {
                report(error)
                noteTried()
            }
            failures += 1
            let waiting = Self.pause(delay.delay(afterFailures: failures, random: .random(in: 0...1)))
            waitForBus = waiting
            await waiting.value
        }
    }

    /// Returns when the first attempt to get the name has ended, or the distributor has.
    func tried() async {
        guard !hasTried else { return }
        await withCheckedContinuation { whenTried.append($0) }
    }

    private func noteTried() {
        hasTried = true
        for waiting in whenTried { waiting.resume() }
        whenTried = []
    }

    /// Waits for so long, or until it is cancelled.
    private static func pause(_ time: TimeAmount) -> Task<Void, Never> {
        Task {
            // It throws if it is cancelled.
            try? await Task.sleep(for: .nanoseconds(time.nanoseconds))
        }
    }

    private func open() async throws -> BusConnection {
        let slots = CallSlots()
        let (calls, call) = AsyncStream.makeStream(
            of: BusCall.self, bufferingPolicy: .bufferingOldest(CallSlots.maximum))
        let bus = try await BusConnection.open(address) { [weak self] message, body in
            self?.told(message, body)
        } calls: { message, body in
            if let answer = Introspection.answer(to: message) { return answer }
            let request: DistributorRequest
            do throws(DistributorRequest.Refusal) {
                request = try DistributorRequest(message, body)
            } catch {
                return switch error {
                case .unknownMethod:
                    .error(BusMessage.ErrorName.unknownMethod, "The distributor has no such method.", to: message)
                case .badArguments(let cause): .error(BusMessage.ErrorName.invalidArguments, cause, to: message)
                }
            }
            guard slots.take(message.sender ?? "") else {
                return .error(BusMessage.ErrorName.limitsExceeded, "Too many calls wait for an answer.", to: message)
            }
            call.yield(BusCall(message: message, request: request))
            return nil
        }
        bus.whenClosed { call.finish() }
        do {
            // Without flags, another program that has the name keeps it, and this one gets it afterwards.
            var answer = try await bus.call(.bus("RequestName", Self.name, flags: 0))
            let isWaiting = answer.number() == 2
            // If this program gets the name at the same time, the signal has said so already.
            name.withLock { if $0 == .disconnected { $0 = isWaiting ? .waiting : .owned } }
            if isWaiting {
                logger.warning(
                    "Another program is this distributor on the session bus; apps register with this agent when it has ended",
                    metadata: ["name": "\(Self.name)"])
            }
        } catch {
            bus.close()
            throw error
        }
        Task { [weak self] in
            // Calls of one app are handled in their order, those of several at the same time.
            var last: [String: Task<Void, Never>] = [:]
            for await call in calls {
                let sender = call.message.sender ?? ""
                let before = slots.isOnly(sender) ? nil : last[sender]
                if last.count > CallSlots.maximum { last = last.filter { !slots.isFree($0.key) } }
                last[sender] = Task { [weak self] in
                    await before?.value
                    await self?.handle(call, on: bus)
                    slots.release(sender)
                }
            }
        }
        return bus
    }

    /// A signal of the bus says that this program has got the name, or has lost it (the D-Bus Specification, "Message Bus Messages").
    nonisolated private func told(_ message: BusMessage, _ body: BusReader) {
        var body = body
        guard message.sender == "org.freedesktop.DBus", body.text() == Self.name else { return }
        switch message.member {
        case "NameAcquired": name.withLock { $0 = .owned }
        case "NameLost": name.withLock { $0 = .waiting }
        default: break
        }
    }

    private func report(_ error: any Error) {
        guard !isBusReported else { return }
        isBusReported = true
        logger.warning("The distributor cannot use the session bus", metadata: ["cause": "\(error)"])
    }

    /// Ends the connection to the bus. What apps have not taken stays on the disk.
    func close() {
        isClosed = true
        noteTried()
        waitForBus?.cancel()
        bus?.close()
        for wait in waits.values { wait.cancel() }
        for delivery in deliveries.values { delivery.cancel() }
    }

    // MARK: Messages

    /// A message of a subscription is on the disk.
    func arrived(_ subscription: String) { deliver(subscription) }

    /// Hands over all messages that wait, at once.
    private func tryAgain() {
        for subscription in connectors.keys { tryAgain(subscription) }
    }

    /// Hands over the messages of a subscription, without waiting any longer.
    func tryAgain(_ subscription: String) {
        waits[subscription]?.cancel()
        deliver(subscription)
    }

    private func deliver(_ subscription: String) {
        guard deliveries[subscription] == nil, bus != nil, !isClosed else { return }
        deliveries[subscription] = Task { await deliverAll(of: subscription) }
    }

    private func deliverAll(of subscription: String) async {
        let delay = GrowingDelay(first: AgentLimits.handing.first, longest: AgentLimits.handing.longest)
        var failures = 0
        while !isClosed, let bus, bus.isOpen, let connector = connectors[subscription],
            let message = next(of: subscription)
        {
            do {
                try await hand(message, to: connector, on: bus)
                // If this fails, the app gets the message again: it has an identifier.
                try store.removeMessage(message.number)
                failures = 0
                reported.remove(subscription)
            } catch {
                failures += 1
                report(error, of: connector)
                let waiting = Self.pause(delay.delay(afterFailures: failures, random: .random(in: 0...1)))
                waits[subscription] = waiting
                await waiting.value
                waits[subscription] = nil
            }
        }
        // There is no wait between the last look at the queue and this.
        deliveries[subscription] = nil
    }

    private func next(of subscription: String) -> ConnectorMessage? {
        do {
            return try store.nextMessage(of: subscription)
        } catch {
            logger.error("A message cannot be read", metadata: ["cause": "\(error.cause)"])
            return nil
        }
    }

    private func report(_ error: any Error, of connector: Connector) {
        guard reported.insert(connector.subscription).inserted else { return }
        logger.warning(
            "A message cannot be handed to an app; it is tried again",
            metadata: ["app": "\(connector.service)", "cause": "\(error)"])
    }

    private func hand(_ message: ConnectorMessage, to connector: Connector, on bus: BusConnection) async throws {
        let call = BusMessage.message(message, to: connector)
        switch connector.version {
        case .two: _ = try await bus.call(call)
        case .one:
            // The app answers nothing, so the bus is asked to start it first, and then whether it has come so far. The bus cannot
            // start an app that runs and has no file for that.
            if (try? await bus.call(.bus("GetNameOwner", connector.service))) == nil {
                _ = try await bus.call(.bus("StartServiceByName", connector.service, flags: 0))
            }
            try await bus.send(call)
            _ = try await bus.call(.bus("GetId"))
        }
    }

    // MARK: Calls

    private func handle(_ call: BusCall, on bus: BusConnection) async {
        let answer: BusMessage
        var notice: BusMessage?
        switch call.request.kind {
        case .register(let app, let token, let vapid):
            do {
                let connector = try await register(
                    app, token, vapid, call.request.version, isOwner: await owns(app, call.message, bus))
                answer = .registered(call.message, call.request.version, failure: nil)
                notice = .newEndpoint(connector)
            } catch {
                logger.info(
                    "An app of the desktop has no registration", metadata: ["app": "\(app)", "cause": "\(error.cause)"])
                answer = .registered(call.message, call.request.version, failure: error)
            }
        case .unregister(let token):
            if let connector = connectors.values.first(where: { $0.token == token }),
                await owns(connector.service, call.message, bus)
            {
                await end(connector)
                notice = .unregistered(connector)
            }
            answer = .unregistered(call.message, call.request.version)
        }
        // If the bus is gone, the app asks again.
        if call.message.expectsAnswer { try? await bus.send(answer) }
        if let notice { try? await bus.send(notice) }
        if case .register(let app, let token, _) = call.request.kind { tryAgain(subscription(app, token)) }
    }

    /// Whether the caller owns a bus name.
    private func owns(_ name: String, _ call: BusMessage, _ bus: BusConnection) async -> Bool {
        guard let sender = call.sender, var owner = try? await bus.call(.bus("GetNameOwner", name)) else {
            return false
        }
        return owner.text() == sender
    }

    func subscription(_ app: String, _ token: String) -> String {
        Connector.subscription(user: user, service: app, token: token)
    }

    /// Tells an app of its endpoint, if the bus is there.
    func announce(_ connector: Connector) async {
        // The app gets it at its next start as well.
        try? await bus?.send(.newEndpoint(connector))
    }
}

/// A call that waits for its answer.
struct BusCall: Sendable {
    let message: BusMessage
    let request: DistributorRequest
}
