import Notifications
import Testing

@testable import Management

/// Which notifications of a busy delivery log are shown.
struct LogSampleTests {
    private func id(_ number: UInt64) -> NotificationID { NotificationID(high: 0, low: number) }

    @Test
    func `All past entries are shown; of new notifications a limited number, each with all its entries`() {
        let sample = LogSample()
        for number in 0..<500 { #expect(sample.admits(id(UInt64(number)))) }
        #expect(sample.next() == 0)
        sample.begin()
        let limit = UInt64(ManagementLimits.sampledEntries)
        for number in 1000..<(1000 + limit) { #expect(sample.admits(id(number))) }
        #expect(!sample.admits(id(2000)) && !sample.admits(id(2001)))
        #expect(sample.admits(id(1000)))
        #expect(sample.next() == 2)
        #expect(sample.admits(id(2000)) && sample.admits(id(1000)))
        #expect(sample.next() == 0)
    }

    @Test func `Of many shown notifications the oldest are forgotten`() {
        let sample = LogSample()
        sample.begin()
        for number in 0...ManagementLimits.sampleMemory {
            #expect(sample.admits(id(UInt64(number))))
            _ = sample.next()
        }
        // The first one was forgotten, so it counts as new, and takes one of the places.
        for number in 20_000..<(20_000 + ManagementLimits.sampledEntries) {
            #expect(sample.admits(id(UInt64(number))))
        }
        #expect(!sample.admits(id(0)))
        #expect(sample.admits(id(UInt64(ManagementLimits.sampleMemory))))
    }
}
