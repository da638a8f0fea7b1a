#if PostgreSQL
    import CommonTesting
    import Foundation
    import NIOHTTP1
    import Notifications
    import PostgresClient
    import PostgresCampaignStore
    import PostgresSupport
    import PostgresTesting
    import CampaignStore
    import Testing

    @testable import ProviderServer
    @testable import ServiceTesting

    extension CampaignStoreChoice {
        static let testKey = String(repeating: "c", count: 64)

        /// A store on this database, or on a new one.
        static func test(_ location: PostgresLocation? = nil) async throws -> CampaignStoreChoice {
            let place: PostgresLocation
            if let location { place = location } else { place = try await TestServer.makeDatabase() }
            return .postgresql(place, try #require(StoreKey(hexadecimal: testKey)))
        }
    }

    /// Two provider servers on one database.
    @Suite(.startsPrograms, .timeLimit(.minutes(3))) struct SharedServerTests {
        /// - Parameter body: gets the shop with each of the servers.
        private func withTwo(
            devices: Int,
            _ location: PostgresLocation? = nil,
            _ body: (_ first: TestShop, _ second: TestShop) async throws -> Void,
        ) async throws {
            let store = try await CampaignStoreChoice.test(location)
            try await TestShop.run(devices: Array(repeating: nil, count: devices)) {
                $0.store = store
            } _: { first in
                try await TestProvider.run {
                    $0.store = store
                } _: { provider in
                    try await body(
                        first,
                        TestShop(
                            carillon: first.carillon, provider: provider, tokens: first.tokens,
                            clientKey: first.clientKey, serverKey: first.serverKey))
                }
            }
        }

        @Test func `Each takes installations and messages, and every recipient gets each message once`() async throws {
            try await withTwo(devices: 30) { first, second in
                // The administrator's key is the same everywhere.
                #expect(first.provider.administratorKey == second.provider.administratorKey)
                for index in first.tokens.indices { try await (index % 2 == 0 ? first : second).register(index) }
                var sent: [String] = []
                for shop in [first, second, first, second] { sent.append(try await shop.send()) }
                for (id, shop) in zip(sent, [second, first, first, second]) {
                    let message = try await shop.provider.finished(id)
                    #expect(message["state"] == "finished" && message["accepted"] == 30)
                }
                let received = try await first.received()
                #expect(received.count == 120 && Set(received.map(\.id)).count == 120)
                for token in first.tokens { #expect(received.count { $0.token == token } == 4) }
            }
        }

        @Test func `A message that one of them sends is stopped and resumed at the other`() async throws {
            let location = try await TestServer.makeDatabase()
            try await withTwo(devices: 40, location) { first, second in
                try await first.register()
                let id = try await first.send(#","rate":4"#)
                _ = try await second.provider.message(id) { $0["accepted"] != 0 }
                let paused = try await second.provider.ask(.POST, "/v1/messages/\(id)/pause", key: second.serverKey)
                #expect(paused["state"] == "paused")
                // Wait until the server that sends has noticed it.
                let connection = PostgresConnection(location, name: "test")
                try await wait(
                    while: try await connection.execute(
                        "SELECT 1 FROM carillon_provider.message WHERE holder IS NOT NULL"
                    ).count > 0)
                await connection.close()
                let stopped = try await second.provider.ask(.GET, "/v1/messages/\(id)")
                #expect(stopped["accepted"] == .integer(Int64(try await first.received().count)))
                #expect(stopped["accepted"] != 40)
                _ = try await second.provider.ask(
                    .PATCH, "/v1/messages/\(id)", #"{"rate":null}"#, key: second.serverKey)
                _ = try await second.provider.ask(.POST, "/v1/messages/\(id)/resume", key: second.serverKey)
                #expect(try await first.provider.finished(id)["accepted"] == 40)
                #expect(try await first.received().map(\.token).sorted() == first.tokens.sorted())
            }
        }

        @Test func `A key that one of them replaced is soon invalid at the other`() async throws {
            try await withTwo(devices: 1) { first, second in
                try await second.register(0)
                let path = "/v1/apps/\(TestShop.bundleID)"
                _ = try await first.provider.ask(.POST, path + "/keys", #"{"key":"server"}"#)
                try await wait(
                    while: try await second.provider.ask(.GET, "/v1/installations", key: second.serverKey).status != 401
                )
                #expect(try await first.provider.ask(.DELETE, path).status == 200)
                try await wait(while: try await second.provider.ask(.GET, path).status != 404)
            }
        }

        @Test func `An app that one of them deletes is sent to by neither`() async throws {
            try await withTwo(devices: 40) { first, second in
                try await first.register()
                let id = try await first.send(#","rate":4"#)
                _ = try await second.provider.message(id) { $0["accepted"] != 0 }
                let path = "/v1/apps/\(TestShop.bundleID)"
                #expect(try await second.provider.ask(.DELETE, path).status == 200)
                for shop in [first, second] {
                    try await wait(while: try await shop.provider.ask(.GET, path).status != 404)
                    #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)").status == 404)
                }
                #expect(try await first.received().count < 40)
            }
        }

        @Test func `An event goes out once`() async throws {
            let receiver = HookReceiver(failures: 0)
            try await receiver.run { url in
                try await withTwo(devices: 2) { first, second in
                    try await first.register()
                    let made = try await second.provider.ask(
                        .POST, "/v1/hooks", #"{"url":"\#(url)"}"#, key: second.serverKey)
                    #expect(made.status == 201)
                    let path = "/v1/hooks/\(try made.text("id"))/deliveries"
                    for shop in [first, second, first] {
                        let id = try await shop.send()
                        #expect(try await shop.provider.finished(id)["state"] == "finished")
                    }
                    func states() async throws -> [JSONValue?] {
                        let answer = try await first.provider.ask(.GET, path, key: first.serverKey)
                        return (0..<3).map { answer["items", String($0), "state"] }
                    }
                    try await wait(while: try await states() != ["delivered", "delivered", "delivered"])
                    #expect(receiver.received.count == 3)
                    #expect(Set(receiver.received.map(\.id)).count == 3)
                }
            }
        }

        @Test func `A message of a server that is gone is taken over, and nobody whose 200 was stored gets it again`()
            async throws
        {
            let location = try await TestServer.makeDatabase()
            let store = try await CampaignStoreChoice.test(location)
            try await TestShop.run(devices: Array(repeating: nil, count: 5)) {
                $0.store = store
            } _: { shop in
                try await shop.register()
                // This server holds the message for a short time, has one answer, and is never seen again.
                let gone = try await PostgresCampaignStore.open(
                    .init(
                        location: location,
                        storeKey: try #require(StoreKey(hexadecimal: CampaignStoreChoice.testKey)), identity: [9],
                        now: ProviderClock.system.now))
                let later = ProviderClock.system.now().advanced(by: .seconds(86_400))
                let waits = try await shop.send(#","sendAt":"\#(later.text)""#)
                let message = try #require(try await gone.message(waits))
                #expect(try await gone.hold(message.number, for: .seconds(3)) != nil)
                let first = try #require(try await gone.installations(app: message.app, after: 0, limit: 1).first)
                let outcome = SendOutcome(
                    installation: first.number, status: 200, reason: nil, at: ProviderClock.system.now())
                _ = try await gone.record([outcome], of: message, position: message.position) { _ in
                    ProviderEvent(kind: "", body: [])
                }
                await gone.close()
                let connection = PostgresConnection(location, name: "test")
                _ = try await connection.execute("UPDATE carillon_provider.message SET starts = 0, state = 'running'")
                await connection.close()
                #expect(try await shop.provider.finished(waits)["accepted"] == 5)
                let others = shop.tokens.filter { $0 != first.installation.deviceToken }
                #expect(try await shop.received().map(\.token).sorted() == others.sorted())
            }
        }

        @Test func `A second server on the same folder is refused`() async throws {
            let store = try await CampaignStoreChoice.test()
            try await TestProvider.withFolder { folder in
                try await TestProvider.run(folder: folder) {
                    $0.store = store
                } _: { _ in
                    await #expect(throws: (any Error).self) {
                        try await TestProvider.run(folder: folder) {
                            $0.store = store
                        } _: { _ in
                        }
                    }
                }
            }
        }
    }
#endif
