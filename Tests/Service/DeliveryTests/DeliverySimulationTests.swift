import Foundation
import Testing

/// Quality of service (Guide, 2.1.3) with thousands of random events for each seed.
///
/// Simulations compute all the time. They run one after the other, and let the other tests go on after each seed: these would
/// exceed their time limits otherwise on a busy machine.
@Suite("Simulated delivery", .serialized)
struct DeliverySimulationTests {
    private static let rounds = 20
    private static let steps = 150

    @Test(arguments: 1...3, 1...64 as ClosedRange<UInt64>)
    func `The rules hold`(nodes: Int, seed: UInt64) async {
        await Task.yield()
        let problems = DeliverySimulation(seed: seed, nodes: nodes).run(rounds: Self.rounds, steps: Self.steps)
        #expect(problems.isEmpty, "seed \(seed), \(nodes) nodes")
    }

    @Test(arguments: 1...3)
    func `The same seed gives the same run`(nodes: Int) {
        let (first, second) = (DeliverySimulation(seed: 1, nodes: nodes), DeliverySimulation(seed: 1, nodes: nodes))
        _ = first.run(rounds: 2, steps: Self.steps)
        _ = second.run(rounds: 2, steps: Self.steps)
        #expect(first.numbers == second.numbers)
        #expect(first.now == second.now)
    }

    /// Some defects need hundreds of seeds, so each has a seed that is known to find it
    /// (``DeliverySimulation/Fault/knownSeed``). A change of the simulation gives the seeds other runs. Then this test searches
    /// as before, and prints the seed that finds the defect now: enter it there.
    @Test(arguments: DeliverySimulation.Fault.allCases)
    func `A planted defect is found`(_ fault: DeliverySimulation.Fault) async {
        if Self.finds(fault, seed: fault.knownSeed) { return }
        for seed in 1...1600 as ClosedRange<UInt64> {
            await Task.yield()
            if Self.finds(fault, seed: seed) {
                return print("Seed \(seed) finds \(fault), and its known seed \(fault.knownSeed) no longer does")
            }
        }
        Issue.record("no seed finds \(fault)")
    }

    private static func finds(_ fault: DeliverySimulation.Fault, seed: UInt64) -> Bool {
        !DeliverySimulation(seed: seed, nodes: fault.nodes, fault: fault).run(rounds: rounds, steps: steps).isEmpty
    }

    /// script/simulate sets how long to run, and the first seed.
    private static let environment = ProcessInfo.processInfo.environment
    private static let minutes = environment["CARILLON_SIMULATE_MINUTES"].flatMap(Double.init)
    private static let count = environment["CARILLON_SIMULATE_STEPS"].flatMap(Int.init)
    private static let firstSeed = environment["CARILLON_SIMULATE_SEED"].flatMap(UInt64.init)

    @Test(.enabled(if: minutes != nil || count != nil))
    func `The rules hold in a long run`() {
        let end = Self.minutes.map { ContinuousClock.now.advanced(by: .seconds($0 * 60)) }
        var seed = Self.firstSeed ?? 1000
        var steps = 0
        repeat {
            // One, two and three nodes in turn.
            let nodes = Int(seed % 3) + 1
            let simulation = DeliverySimulation(seed: seed, nodes: nodes)
            let problems = simulation.run(rounds: Self.rounds, steps: Self.steps)
            steps += simulation.stepCount
            guard problems.isEmpty else {
                print("script/simulate --seed \(seed) finds: \(problems.joined(separator: "; "))")
                Issue.record("seed \(seed), \(nodes) nodes: \(problems)")
                return
            }
            seed += 1
        } while end.map { ContinuousClock.now < $0 } ?? (steps < Self.count ?? 0)
        print("\(steps) steps, seeds up to \(seed - 1): nothing found")
    }
}
