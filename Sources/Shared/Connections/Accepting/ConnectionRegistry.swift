import NIOCore

/// The connections of one listener on one event loop, and the one timer for all of them.
///
/// Ten thousand timers for idle connections would cost more than the connections. The limits are whole seconds, so one
/// check a second is exact enough.
final class ConnectionRegistry {
    /// The time between two checks of a connection.
    static let interval = TimeAmount.seconds(1)

    /// The number of parts in which the connections are checked, one after the other. A check of ten thousand at once
    /// would block the event loop for about ten milliseconds.
    static let parts = 16

    /// The time between two parts of a slow drain: the eye of no balancer sees steps of a tenth of a second.
    static let drainInterval = TimeAmount.milliseconds(100)

    /// The time that an abandoned connection has to send its last bytes.
    static let lastWords = TimeAmount.seconds(1)

    private let eventLoop: any EventLoop
    private var connections = Array(repeating: [ObjectIdentifier: any RegisteredConnection](), count: parts)
    /// The part that is checked next.
    private var next = 0
    private var clock: RepeatedTask?
    private var whenEmpty: EventLoopPromise<Void>?

    private init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Makes a registry that is confined to the event loop.
    static func make(on eventLoop: any EventLoop) async throws -> NIOLoopBound<ConnectionRegistry> {
        try await eventLoop.submit {
            NIOLoopBound(ConnectionRegistry(eventLoop: eventLoop), eventLoop: eventLoop)
        }.get()
    }

    /// Adds a new connection.
    func add(_ connection: any RegisteredConnection) {
        connections[Self.part(of: connection)][ObjectIdentifier(connection)] = connection
        // A connection that begins while the listener shuts down is drained at once.
        if whenEmpty != nil { connection.drain() }
        guard clock == nil else { return }
        let registry = NIOLoopBound(self, eventLoop: eventLoop)
        let delay = TimeAmount.nanoseconds(Self.interval.nanoseconds / Int64(Self.parts))
        clock = eventLoop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in registry.value.tick() }
    }

    /// Removes a connection that has ended.
    func remove(_ connection: any RegisteredConnection) {
        connections[Self.part(of: connection)][ObjectIdentifier(connection)] = nil
        guard isEmpty else { return }
        clock?.cancel()
        clock = nil
        whenEmpty?.succeed()
    }

    private var isEmpty: Bool { connections.allSatisfy(\.isEmpty) }

    private var all: [any RegisteredConnection] { connections.flatMap(\.values) }

    private static func part(of connection: any RegisteredConnection) -> Int {
        // fits: less than the number of parts, which is a constant
        Int(UInt(bitPattern: ObjectIdentifier(connection).hashValue) % UInt(parts))
    }

    private func tick() {
        let now = NIODeadline.now()
        for connection in connections[next].values { connection.tick(now: now) }
        next = (next + 1) % Self.parts
    }

    /// Drains the connections one after the other, evenly over a time. Returns when all were told, or have ended.
    static func drain(_ bound: NIOLoopBound<ConnectionRegistry>, over time: TimeAmount) async {
        let eventLoop = bound.eventLoop
        let steps = Int(max(1, time.nanoseconds / drainInterval.nanoseconds))  // fits: 64 bits
        let drained = eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let promise = eventLoop.makePromise(of: Void.self)
            let plan = NIOLoopBound(DrainPlan(bound.value.all, steps: steps), eventLoop: eventLoop)
            eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: drainInterval) { task in
                for connection in plan.value.next() where bound.value.holds(connection) { connection.drain() }
                guard plan.value.isOver || bound.value.isEmpty else { return }
                task.cancel()
                promise.succeed()
            }
            return promise.futureResult
        }
        // An event loop that has ended has no connections.
        try? await drained.get()
    }

    private func holds(_ connection: any RegisteredConnection) -> Bool {
        connections[Self.part(of: connection)][ObjectIdentifier(connection)] != nil
    }

    /// Lets every connection finish, and closes what is left after `limit`.
    static func shutDown(_ bound: NIOLoopBound<ConnectionRegistry>, within limit: TimeAmount) async {
        let eventLoop = bound.eventLoop
        let finished = eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let registry = bound.value
            // A shutdown may begin while a slow drain ends.
            let promise = registry.whenEmpty ?? eventLoop.makePromise(of: Void.self)
            registry.whenEmpty = promise
            for connection in registry.all { connection.drain() }
            if registry.isEmpty { promise.succeed() }
            let deadline = eventLoop.scheduleTask(in: limit) {
                for connection in bound.value.all { connection.abandon() }
            }
            let end = eventLoop.scheduleTask(in: limit + lastWords) {
                for connection in bound.value.all { connection.close() }
            }
            return promise.futureResult.always { _ in
                deadline.cancel()
                end.cancel()
            }
        }
        // An event loop that has ended has no connections.
        try? await finished.get()
    }
}
