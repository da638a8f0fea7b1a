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
