import DeliveryTesting
import MemoryStore
import Testing

@Suite("The store in memory keeps the contract of the ports")
struct MemoryStoreContractTests {
    @Test(arguments: StoreContract.promises)
    func `Keeps`(_ promise: StoreContract.Promise) async throws {
        try await StoreContract { log in StoreContract.Ports(MemoryStore(log: log)) }.check(promise)
    }
}
