import NIOCore

/// The connections of one listener on one event loop, and the one clock that ticks for all of them.
///
/// A timer for each of ten thousand idle connections would cost more than the connections do; their limits are whole
/// seconds, and one look a second is exact enough.
final class ConnectionRegistry {
    /// How often each connection is looked at.
    static let interval = TimeAmount.seconds(1)

    /// In how many parts the connections are looked at, one after the other: all at once, ten thousand of them would hold
    /// up what comes meanwhile for some ten milliseconds.
    static let parts = 16

    /// How long the last words of a connection that is given up may take to go out.
    static let lastWords = TimeAmount.seconds(1)

    private let eventLoop: any EventLoop
    private var connections = Array(repeating: [ObjectIdentifier: any RegisteredConnection](), count: parts)
    /// Which part is looked at next.
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

    /// A connection has begun.
    func add(_ connection: any RegisteredConnection) {
        connections[Self.part(of: connection)][ObjectIdentifier(connection)] = connection
        // What arrives while the listener goes down leaves with it.
        if whenEmpty != nil { connection.drain() }
        guard clock == nil else { return }
        let registry = NIOLoopBound(self, eventLoop: eventLoop)
        let delay = TimeAmount.nanoseconds(Self.interval.nanoseconds / Int64(Self.parts))
        clock = eventLoop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in registry.value.tick() }
    }

    /// A connection has ended.
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
        Int(UInt(bitPattern: ObjectIdentifier(connection).hashValue) % UInt(parts))
    }

    private func tick() {
        let now = NIODeadline.now()
        for connection in connections[next].values { connection.tick(now: now) }
        next = (next + 1) % Self.parts
    }

    /// Lets every connection finish, and closes what is left after `limit`.
    static func shutDown(_ bound: NIOLoopBound<ConnectionRegistry>, within limit: TimeAmount) async {
        let eventLoop = bound.eventLoop
        let finished = eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let registry = bound.value
            let promise = eventLoop.makePromise(of: Void.self)
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
