import CommonTesting
import DeliveryTesting
import SQLiteStore
import Testing

@Suite("The embedded store keeps the contract of the ports")
struct SQLiteStoreContractTests {
    @Test(arguments: StoreContract.promises)
    func `Keeps`(_ promise: StoreContract.Promise) async throws {
        try await withTemporaryPath { folder in
            try await StoreContract { log in
                StoreContract.Ports(try await SQLiteStore.open(folder: folder, log: log))
            }.check(promise)
        }
    }
}
