import NIOCore
import Testing

@testable import Connections

@Suite("Which connections a slow drain ends")
struct DrainPlanTests {
    private final class Connection: RegisteredConnection {
        func tick(now: NIODeadline) {}
        func drain() {}
        func abandon() {}
        func close() {}
    }

    @Test(arguments: [(0, 5), (1, 5), (5, 5), (7, 3), (1000, 7), (3, 0)])
    func `All connections end, equally many in each step, and not in more steps than there are`(
        _ count: Int, _ steps: Int
    ) {
        let plan = DrainPlan((0..<count).map { _ in Connection() }, steps: steps)
        var parts: [Int] = []
        while !plan.isOver { parts.append(plan.next().count) }
        #expect(parts.reduce(0, +) == count && parts.count <= max(1, steps))
        #expect((parts.max() ?? 0) - (parts.min() ?? 0) <= 1)
    }
}
