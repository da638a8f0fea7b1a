import Delivery
import SQLiteStore
import Notifications

/// Delivery with a store whose calls can be held, a local switchboard, and a clock that the test sets.
struct DeliveryRig: Sendable {
    let store: HeldStore
    let clock = SettableClock()
    let log = RecordingLog()
    let switchboard: WatchedSwitchboard
    let delivery: Delivery
    let answers = RecordingAnswers()

    /// - Parameters:
    ///   - gates: where calls to the store are held.
    ///   - registrations: other registrations than the store's, if a test needs them.
    ///   - isShared: whether other nodes use the store too.
    ///   - storeHasLog: whether the store records in the log what it replaces, as that of a service does.
    init(
        holding gates: Set<HeldStore.Gate> = [],
        limits: DeliveryLimits = DeliveryLimits(),
        registrations: (any Registrations)? = nil,
        isShared: Bool = false,
        storeHasLog: Bool = false,
    ) async throws {
        let storeLog: any DeliveryLog = storeHasLog ? log : NoDeliveryLog()
        let (store, clock) = (try HeldStore(holding: gates, isShared: isShared, log: storeLog), self.clock)
        self.store = store
        switchboard = WatchedSwitchboard(
            LocalSwitchboard(mailboxes: store, log: log, limits: limits, clock: { clock.now }))
        delivery = Delivery(
            accounts: store.memory,
            registrations: registrations ?? store.memory,
            mailboxes: store,
            switchboard: switchboard,
            feedback: store.memory,
            origin: Example.origin,
            log: log,
            limits: limits,
            clock: ServiceClock { clock.now },
        )
        for app in 1...3 as ClosedRange<UInt32> { try await register(Example.destination(app: app)) }
    }

    func register(_ destination: Destination) async throws {
        _ = try await store.memory.register(destination, tokenKeyID: 1, at: Example.moment)
    }

    func submit(
        _ number: UInt64,
        app: UInt32 = 1,
        _ expiration: Expiration = .unspecified,
        priority: Priority = .immediate,
        isSilent: Bool = false,
        collapseID: String? = nil,
        generation: UInt32 = 1,
    ) {
        var submission = Example.submission(
            number, to: Example.destination(app: app), expiration, priority: priority, isSilent: isSilent,
            generation: generation)
        submission.notification.fields.collapseID = collapseID.flatMap(CollapseIdentifier.init(rawValue:))
        delivery.submit([submission], answers: answers)
    }

    /// Connects the device.
    func attach() -> RecordingStream {
        let stream = RecordingStream()
        switchboard.attach(stream, of: Example.device)
        return stream
    }

    /// Connects the device, whose mailboxes are empty, and waits until they were read.
    func online() async -> RecordingStream {
        let stream = attach()
        submit(1000, app: 3, .immediately)
        _ = await stream.attempts.first(1)
        return stream
    }

    /// The device acknowledges the notifications with these numbers.
    func acknowledge(_ numbers: UInt64..., on stream: RecordingStream) {
        let attempts = stream.attempts.values.filter { numbers.contains($0.notification.number) }.map(\.number)
        switchboard.acknowledge(attempts, by: Example.device)
    }

    /// Waits until the submission is answered.
    func answered(_ ticket: UInt64) async {
        await answers.answers.wait { $0.contains { $0.ticket == ticket } }
    }

    /// The numbers of the notifications in the device's mailboxes.
    func mailboxes() async throws -> [UInt64] {
        try await store.memory.entries(of: Example.device).map(\.entry.notification.number).sorted()
    }
}
