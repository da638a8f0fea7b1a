import Delivery
import Testing

@testable import Courier

@Suite("What waits to be written to devices")
struct OutboxTests {
    @Test
    func `Of what was added before a lease ran out, only ends of streams are written`() {
        for open in [nil, 2] as [UInt64?] {
            #expect(!Outbox.mayWrite(nil, addedIn: 1, open: open))
            #expect(Outbox.mayWrite(.end(.storeUnavailable), addedIn: 1, open: open))
        }
        #expect(Outbox.mayWrite(nil, addedIn: 2, open: 2))
    }
}
