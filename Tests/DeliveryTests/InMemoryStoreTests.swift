import DeliveryTesting
import Testing

@Suite("InMemoryStore")
struct InMemoryStoreTests {
    @Test("it keeps the ports' promises", arguments: StoreContract.promises)
    func keeps(_ promise: StoreContract.Promise) async throws {
        try await StoreContract {
            let store = InMemoryStore()
            return StoreContract.Ports(
                accounts: store, registrations: store, mailboxes: store, secrets: store, invitations: store,
                feedback: store)
        }.check(promise)
    }
}
