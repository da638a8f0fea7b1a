import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Connections

@Suite("The timer of a listener's connections")
struct ConnectionRegistryTests {
    /// A connection that counts how often it is checked.
    private final class Connection: RegisteredConnection, Sendable {
        let ticks = Atomic(0)
        var count: Int { ticks.load(ordering: .relaxed) }

        func tick(now: NIODeadline) { ticks.add(1, ordering: .relaxed) }
        func drain() {}
        func abandon() {}
        func close() {}
    }

    @Test
    func `Each connection is checked once a second, and not all at the same moment`() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let registry = try await ConnectionRegistry.make(on: loop)
        // Enough connections for each of the sixteen parts to have some.
        let connections = (0..<1000).map { _ in Connection() }
        try await loop.executeInContext {
            for connection in connections { registry.value.add(connection) }
        }

        await loop.advanceTime(by: .milliseconds(500))
        let early = connections.count { $0.count == 1 }
        #expect(early > 0)
        #expect(early < connections.count)

        await loop.advanceTime(by: .milliseconds(500))
        #expect(connections.allSatisfy { $0.count == 1 })

        try await loop.executeInContext {
            for connection in connections { registry.value.remove(connection) }
        }
        await loop.advanceTime(by: .seconds(2))
        #expect(connections.allSatisfy { $0.count == 1 })
        await loop.shutdownGracefully()
    }
}
