import CommonTesting
import Delivery
import DeliveryTesting
import SQLiteStore
import Testing

@Suite("The embedded store keeps the contract of the ports")
struct SQLiteStoreContractTests {
    @Test(arguments: StoreContract.promises)
    func keeps(_ promise: StoreContract.Promise) async throws {
        try await withTemporaryPath { folder in
            let contract = StoreContract {
                let store = try await SQLiteStore.open(folder: folder)
                return StoreContract.Ports(
                    accounts: store,
                    registrations: store,
                    mailboxes: store,
                    secrets: store.secrets,
                    invitations: store,
                    feedback: store,
                    close: { await store.close() },
                )
            }
            try await contract.check(promise)
        }
    }
}
