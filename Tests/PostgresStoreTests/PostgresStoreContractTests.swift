import DeliveryTesting
import PostgresStore
import PostgresTesting
import Testing

@Suite("The shared store keeps the contract of the ports")
struct PostgresStoreContractTests {
    @Test(arguments: StoreContract.promises)
    func keeps(_ promise: StoreContract.Promise) async throws {
        let configuration = try await testConfiguration()
        try await StoreContract { log in
            StoreContract.Ports(try await PostgresStore.open(configuration, log: log))
        }.check(promise)
    }
}

/// A new database's, with few connections, because many tests share the server.
func testConfiguration() async throws -> PostgresStore.Configuration {
    let storeKey = try #require(StoreKey(hexadecimal: String(repeating: "a", count: 64)))
    var configuration = PostgresStore.Configuration(
        location: try await TestServer.makeDatabase(), storeKey: storeKey)
    configuration.writers = 2
    configuration.readers = 1
    return configuration
}
