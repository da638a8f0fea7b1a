import Testing

@testable import APNSDevice

struct AcknowledgementsTests {
    @Test func `One request at a time, and what gathers goes into the next`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.taken(1)
        #expect(acknowledgements.next() == [1])
        acknowledgements.taken(2)
        acknowledgements.taken(3)
        #expect(acknowledgements.next() == nil)
        acknowledgements.answered()
        #expect(acknowledgements.next() == [2, 3])
        acknowledgements.answered()
        #expect(acknowledgements.isEmpty)
    }

    @Test func `What failed is told again, first`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.taken(1)
        _ = acknowledgements.next()
        acknowledgements.taken(2)
        acknowledgements.failed()
        #expect(acknowledgements.next() == [1, 2])
    }

    @Test func `A request holds a thousand`() {
        var acknowledgements = Acknowledgements()
        for sending in 0..<1500 { acknowledgements.taken(UInt64(sending)) }
        #expect(acknowledgements.next()?.count == 1000)
        acknowledgements.answered()
        #expect(acknowledgements.next()?.count == 500)
    }

    @Test func `What waits is bounded, and the newest stays`() {
        var acknowledgements = Acknowledgements()
        for sending in 0..<100_000 { acknowledgements.taken(UInt64(sending)) }
        var all: [UInt64] = []
        while let next = acknowledgements.next() {
            all += next
            acknowledgements.answered()
        }
        #expect(all.count <= Acknowledgements.maximumWaiting)
        #expect(all.last == 99_999)
    }
}
