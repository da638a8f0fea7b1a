import DeliveryTesting
import SQLiteStore
import Testing

@Suite("The embedded store in memory keeps the contract of the ports")
struct InMemoryContractTests {
    @Test(arguments: StoreContract.promises)
    func `Keeps`(_ promise: StoreContract.Promise) async throws {
        try await StoreContract { log in StoreContract.Ports(try SQLiteStore.inMemory(log: log)) }.check(promise)
    }
}
