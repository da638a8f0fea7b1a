import Delivery
import DeliveryTesting
import Testing

@Suite("The in-memory store keeps the contract of the ports")
struct InMemoryStoreContractTests {
    @Test(arguments: StoreContract.promises)
    func keeps(_ promise: StoreContract.Promise) async throws {
        let contract = StoreContract {
            let store = InMemoryStore()
            return StoreContract.Ports(accounts: store, registrations: store, mailboxes: store, secrets: store)
        }
        try await contract.check(promise)
    }
}
