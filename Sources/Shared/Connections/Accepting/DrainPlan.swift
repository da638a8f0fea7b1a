/// Which connections a slow drain ends next: equally many in each step.
final class DrainPlan {
    private var rest: ArraySlice<any RegisteredConnection>
    private var steps: Int

    /// - Parameter steps: in how many steps all of them end, at least one.
    init(_ connections: [any RegisteredConnection], steps: Int) {
        rest = connections[...]
        self.steps = max(1, steps)
    }

    var isOver: Bool { rest.isEmpty }

    func next() -> ArraySlice<any RegisteredConnection> {
        // Rounded up, so that the last step has at most as many as each before it.
        let count = (rest.count + steps - 1) / steps
        steps = max(1, steps - 1)
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
