import Testing

@testable import Service

struct IdleReliefTests {
    private let much = IdleRelief.work * 4

    /// What a relief says to these amounts of processor time, one for each check.
    private func checks(_ used: [Duration]) -> [Bool] {
        var relief = IdleRelief(used: .zero)
        return used.map { relief.isDue(used: $0) }
    }

    @Test
    func `Memory is given back once after work and a rest`() {
        let resting = [Bool](repeating: false, count: IdleRelief.checks)
        #expect(checks([Duration](repeating: much, count: IdleRelief.checks * 2 + 1)) == resting + [true] + resting)
    }

    @Test
    func `A service that goes on working keeps its memory`() {
        #expect(!checks((1...100).map { IdleRelief.rest * 2 * $0 }).contains(true))
    }

    @Test
    func `A rest that ends too early counts anew`() {
        let early = [Duration](repeating: much, count: IdleRelief.checks)
        #expect(!checks(early + early.map { $0 * 2 }).contains(true))
    }

    @Test
    func `A service that has hardly worked gives nothing back`() {
        let little = [Duration](repeating: IdleRelief.work - .milliseconds(1), count: IdleRelief.checks * 3)
        #expect(!checks(little).contains(true))
    }

    @Test
    func `The clocks of a resting service are no work that begins the count anew`() {
        #expect(checks((0..<20).map { much + IdleRelief.rest * $0 }).contains(true))
    }
}
