import DeliveryTesting
import PostgresClient
import PostgresStore
import PostgresSupport
import PostgresTesting
import Testing

@Suite("The shared store keeps the contract of the ports")
struct PostgresStoreContractTests {
    /// One at a time: together they would have 400 connections, and a slow machine would not answer all of them in time.
    @Test(.serialized, arguments: StoreContract.promises)
    func `Keeps`(_ promise: StoreContract.Promise) async throws {
        let configuration = try await testConfiguration()
        try await StoreContract { log in
            StoreContract.Ports(try await PostgresStore.open(configuration, log: log))
        }.check(promise)
    }
}

/// A store on a new database, or on this one, with few connections, because many tests share the server.
func testConfiguration(_ location: PostgresLocation? = nil) async throws -> PostgresStore.Configuration {
    let storeKey = try #require(StoreKey(hexadecimal: String(repeating: "a", count: 64)))
    let place: PostgresLocation
    if let location { place = location } else { place = try await TestServer.makeDatabase() }
    var configuration = PostgresStore.Configuration(
        location: place, storeKey: storeKey, node: PostgresNode(name: "here", identity: [1]))
    configuration.writers = 2
    configuration.readers = 1
    configuration.limits.timeLimit = .seconds(60)
    return configuration
}
