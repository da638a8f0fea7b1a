/// How many requests a provider may have open, by the service's load: "the exact number of concurrent streams differs based on
/// server load" (Guide, 2.3.3).
///
/// The load is how much waits for the store, as a share of what may. When it grows the number goes down in steps, one at a
/// time, and it goes up again only when the load is well below what brought it down: a number that changes with every look
/// would cost more than it saves. A pure value.
struct StreamAllowance: Sendable, Hashable {
    /// A step: from which load on it holds, and what share of the full number there is then.
    private struct Step {
        let load: Double
        let share: Double
    }

    /// The last leaves a provider enough to keep its connection busy.
    private static let steps = [
        Step(load: 0, share: 1), Step(load: 0.25, share: 0.5), Step(load: 0.5, share: 0.25),
        Step(load: 0.75, share: 0.1),
    ]
    /// Below this share of a step's load the step is taken back.
    private static let hysteresis = 0.5

    private let full: Int
    private var step = 0

    init(full: Int) { self.full = full }

    /// The number that holds now.
    var streams: Int { max(1, Int(Double(full) * Self.steps[step].share)) }

    /// Looks at the load, about once a second.
    /// - Parameter load: 0 to 1.
    mutating func look(at load: Double) {
        if step + 1 < Self.steps.count, load >= Self.steps[step + 1].load {
            step += 1
        } else if step > 0, load < Self.steps[step].load * Self.hysteresis {
            step -= 1
        }
    }
}
