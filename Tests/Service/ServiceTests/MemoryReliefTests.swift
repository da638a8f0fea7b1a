import Testing

@testable import Service

@Suite("Returning memory")
struct MemoryReliefTests {
    private let many = MemoryRelief.connections * 4

    @Test
    func `Memory is returned after most connections have ended, once`() {
        var relief = MemoryRelief()
        let full = relief.isDue(openConnections: many)
        let gone = relief.isDue(openConnections: 10)
        let later = relief.isDue(openConnections: 0)
        #expect([full, gone, later] == [false, true, false])
    }

    @Test
    func `Memory is not returned while half of the connections stay`() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: many)
        let isDue = relief.isDue(openConnections: many / 2 + 1)
        #expect(!isDue)
    }

    @Test
    func `If only a few connections come and go, no memory is returned`() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: MemoryRelief.connections - 1)
        let isDue = relief.isDue(openConnections: 0)
        #expect(!isDue)
    }

    @Test
    func `After a wave of ended connections the rest is returned when it is quiet, once`() {
        var relief = MemoryRelief()
        let rest = MemoryRelief.remainder
        let looks = [many, rest, 0, 0, 0].map { relief.isDue(openConnections: $0) }
        #expect(looks == [false, true, false, true, false])
    }

    @Test
    func `If only few connections have ended, no memory is returned, however quiet it is`() {
        var relief = MemoryRelief()
        let looks = [MemoryRelief.remainder - 1, 0, 0].map { relief.isDue(openConnections: $0) }
        #expect(looks == [false, false, false])
    }

    @Test
    func `After memory was returned, connections that end are counted anew`() {
        var relief = MemoryRelief()
        _ = relief.isDue(openConnections: many)
        _ = relief.isDue(openConnections: 0)
        _ = relief.isDue(openConnections: many)
        let isDue = relief.isDue(openConnections: 0)
        #expect(isDue)
    }
}
