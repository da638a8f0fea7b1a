import Foundation
import Testing

/// Quality of service (Guide, 2.1.3) under thousands of random events a seed.
@Suite("Delivery simulated")
struct DeliverySimulationTests {
    private static let rounds = 20
    private static let steps = 150

    @Test("what must hold holds", arguments: 1...128 as ClosedRange<UInt64>)
    func holds(seed: UInt64) {
        let problems = DeliverySimulation(seed: seed).run(rounds: Self.rounds, steps: Self.steps)
        #expect(problems.isEmpty, "seed \(seed)")
    }

    @Test("the same seed does the same")
    func isRepeatable() {
        let (first, second) = (DeliverySimulation(seed: 1), DeliverySimulation(seed: 1))
        _ = first.run(rounds: 2, steps: Self.steps)
        _ = second.run(rounds: 2, steps: Self.steps)
        #expect(first.numbers == second.numbers)
        #expect(first.now == second.now)
    }

    @Test("a planted defect is found", arguments: DeliverySimulation.Fault.allCases)
    func finds(_ fault: DeliverySimulation.Fault) {
        let isFound = (1...20 as ClosedRange<UInt64>).contains { seed in
            !DeliverySimulation(seed: seed, fault: fault).run(rounds: Self.rounds, steps: Self.steps).isEmpty
        }
        #expect(isFound)
    }

    /// script/simulate sets how long, and where to begin.
    private static let minutes = ProcessInfo.processInfo.environment["CARILLON_SIMULATE_MINUTES"].flatMap(Double.init)
    private static let firstSeed = ProcessInfo.processInfo.environment["CARILLON_SIMULATE_SEED"].flatMap(UInt64.init)

    @Test("what must hold holds as long as one likes", .enabled(if: minutes != nil))
    func runsLong() {
        let end = ContinuousClock.now.advanced(by: .seconds((Self.minutes ?? 0) * 60))
        var seed = Self.firstSeed ?? 1000
        var steps = 0
        repeat {
            let problems = DeliverySimulation(seed: seed).run(rounds: Self.rounds, steps: Self.steps)
            steps += Self.rounds * Self.steps
            guard problems.isEmpty else {
                print("script/simulate --seed \(seed) finds: \(problems.joined(separator: "; "))")
                Issue.record("seed \(seed): \(problems)")
                return
            }
            seed += 1
        } while ContinuousClock.now < end
        print("\(steps) steps, seeds up to \(seed - 1): nothing found")
    }
}
