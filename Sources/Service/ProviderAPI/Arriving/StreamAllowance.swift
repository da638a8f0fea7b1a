/// Decides how many requests a provider may have open, by the service's load: "the exact number of concurrent streams
/// differs based on server load" (Guide, 2.3.3).
///
/// The load says how full the queue for the store is. When it grows, the number decreases step by step. A step is
/// undone only when the load is well below the load of that step, because each change costs a SETTINGS frame on every
/// connection. This is a value, and the load is an argument.
struct StreamAllowance: Sendable, Hashable {
    /// A step: the load from which it applies, and its share of the full number.
    private struct Step {
        let load: Double
        let share: Double
    }

    /// Even in the last step, a provider has enough streams to keep its connection busy.
    private static let steps = [
        Step(load: 0, share: 1), Step(load: 0.25, share: 0.5), Step(load: 0.5, share: 0.25),
        Step(load: 0.75, share: 0.1),
    ]
    /// A step is undone when the load is below this share of the step's load.
    private static let hysteresis = 0.5

    private let full: Int
    private var step = 0

    init(full: Int) { self.full = full }

    /// The present number of streams.
    var streams: Int { max(1, Int(Double(full) * Self.steps[step].share)) }  // fits: a share of the full number

    /// Adjusts the number to the load. Called about once a second.
    /// - Parameter load: the load, from 0 to 1.
    mutating func update(by load: Double) {
        if step + 1 < Self.steps.count, load >= Self.steps[step + 1].load {
            step += 1
        } else if step > 0, load < Self.steps[step].load * Self.hysteresis {
            step -= 1
        }
    }
}
