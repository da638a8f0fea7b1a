import NIOCore
import Synchronization
import Testing

@testable import Connections

@Suite struct UntrustedConnectionsTests {
    private final class Ended: Sendable {
        private let names = Mutex<[Int]>([])
        var all: [Int] { names.withLock { $0 } }
        func end(_ name: Int) -> @Sendable () -> Void { { self.names.withLock { $0.append(name) } } }
    }

    private static func second(_ number: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(number) }

    @Test func `The oldest goes first`() {
        let (ended, connections) = (Ended(), UntrustedConnections(limit: 2, grace: .seconds(2)))
        for number in 0..<5 {
            #expect(connections.admit(at: Self.second(Int64(number) * 2), end: ended.end(number)) != nil)
        }
        #expect(ended.all == [0, 1, 2] && connections.count == 2)
    }

    @Test func `None that has only just come is ended for another`() {
        let (ended, connections) = (Ended(), UntrustedConnections(limit: 2, grace: .seconds(2)))
        for number in 0..<2 { #expect(connections.admit(at: Self.second(0), end: ended.end(number)) != nil) }
        #expect(connections.admit(at: Self.second(1), end: ended.end(2)) == nil)
        #expect(ended.all.isEmpty && connections.count == 2)
        #expect(connections.admit(at: Self.second(2), end: ended.end(3)) != nil)
        #expect(ended.all == [0])
    }

    @Test func `Whoever has shown trust leaves room`() {
        let (ended, connections) = (Ended(), UntrustedConnections(limit: 2, grace: .zero))
        // This connection is older than all others, and stays.
        _ = connections.admit(at: Self.second(0), end: ended.end(0))
        for number in 1..<1000 {
            let admitted = connections.admit(at: Self.second(0), end: ended.end(number))
            if let admitted { connections.remove(admitted) }
        }
        #expect(ended.all.isEmpty && connections.count == 1)
    }
}
