import Testing

@testable import Service

@Suite("Giving memory back")
struct MemoryReliefTests {
    private let many = MemoryRelief.connections * 4

    @Test("It is due once most connections have ended, and then no more")
    func mostHaveEnded() {
        var relief = MemoryRelief()
        let full = relief.isDue(openConnections: many)
        let gone = relief.isDue(openConnections: 10)
        let later = relief.isDue(openConnections: 0)
        #expect([full, gone, later] == [false, true, false])
    }

    @Test("It is not due while half of them stay")
    func halfStay() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: many)
        let isDue = relief.isDue(openConnections: many / 2 + 1)
        #expect(!isDue)
    }

    @Test("A few connections that come and go are not worth it")
    func fewConnections() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: MemoryRelief.connections - 1)
        let isDue = relief.isDue(openConnections: 0)
        #expect(!isDue)
    }

    @Test("What is left of a wave follows once it is quiet, and then no more")
    func restOfAWave() {
        var relief = MemoryRelief()
        let rest = MemoryRelief.remainder
        let looks = [many, rest, 0, 0, 0].map { relief.isDue(openConnections: $0) }
        #expect(looks == [false, true, false, true, false])
    }

    @Test("Less than is worth it stays, however quiet it is")
    func fewHaveEnded() {
        var relief = MemoryRelief()
        let looks = [MemoryRelief.remainder - 1, 0, 0].map { relief.isDue(openConnections: $0) }
        #expect(looks == [false, false, false])
    }

    @Test("The next wave counts anew")
    func nextWave() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: many)
        _ = relief.isDue(openConnections: 0)
        _ = relief.isDue(openConnections: many)
        let isDue = relief.isDue(openConnections: 0)
        #expect(isDue)
    }
}
