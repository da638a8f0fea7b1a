import DeliveryTesting
import Synchronization
import Testing

/// Tests that the contract finds each fault of a store.
@Suite("The contract of the ports", .timeLimit(.minutes(5)))
struct FaultyStoreTests {
    @Test(arguments: FaultyStore.Fault.allCases)
    func `A planted defect is found`(_ fault: FaultyStore.Fault) async throws {
        let found = Mutex(0)
        for promise in StoreContract.promises {
            try await withKnownIssue(isIntermittent: true) {
                try await StoreContract { log in StoreContract.Ports(try FaultyStore(fault, log: log)) }.check(promise)
            } matching: { _ in
                found.withLock { $0 += 1 }
                return true
            }
        }
        #expect(found.withLock { $0 } > 0)
    }
}
