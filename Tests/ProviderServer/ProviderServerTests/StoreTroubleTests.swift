import CFaultyDisk
import CommonTesting
import Foundation
import InMemoryLogging
import Logging
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

#if PostgreSQL
    import PostgresClient
    import PostgresSupport
    import PostgresTesting
#endif

/// A disk that is full, and a database that is away: requests get 503, and nothing is half accepted.
@Suite(.timeLimit(.minutes(3))) struct StoreTroubleTests {
    private static let message = #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#

    /// Requests that change something. None may be accepted.
    private static func refused(_ shop: TestShop) async throws {
        let installation = #"{"deviceToken":"\#(shop.tokens[0])","environment":"development","user":"x"}"#
        let requests: [(HTTPMethod, String, String, [(String, String)])] = [
            (.PUT, "/v1/installations/new", installation, []),
            (.PATCH, "/v1/installations/i0", #"{"user":"anna"}"#, []),
            (.DELETE, "/v1/installations/i1", "", []),
            (.POST, "/v1/messages", message, [("idempotency-key", "k")]),
            (.POST, "/v1/hooks", #"{"url":"https://example.com/hook"}"#, []),
        ]
        for (method, path, body, headers) in requests {
            let answer = try await shop.provider.ask(
                method, path, body.isEmpty ? nil : body, key: shop.serverKey, headers: headers)
            #expect(answer.status == 503, "\(method) \(path): \(answer.body.text)")
            #expect(answer.headers.first(name: "retry-after") != nil)
        }
        let path = "/v1/apps/\(TestShop.bundleID)"
        let place = try #require(try await shop.provider.ask(.GET, path)["environments", "development", "url"])
        let app: JSONValue = ["teamID": "ABCDE12345", "environments": ["development": ["url": place]]]
        for (method, body) in [(HTTPMethod.DELETE, nil), (.PUT, app.text), (.DELETE, nil)] {
            #expect(try await shop.provider.ask(method, path, body).status == 503, "\(method)")
            #expect(try await shop.provider.ask(.GET, path).status == 200, "\(method)")
        }
        let imported = try await shop.provider.importInstallations(
            Array("id,deviceToken,environment\nnew,00,development\nbad,x,development\n".utf8), key: shop.serverKey)
        #expect(imported.status == 503 && imported["imported"] == 0 && imported["bad"] == 1, "\(imported.body.text)")
        #expect(try await shop.provider.ask(.GET, "/ready").status == 503)
        #expect(try await shop.provider.ask(.GET, "/health").status == 200)
    }

    /// What was refused is not there, and is accepted now.
    private static func acceptedAgain(_ shop: TestShop) async throws {
        let key = shop.serverKey
        func shown(_ path: String) async throws -> TestProvider.Answer {
            try await firstValue {
                let answer = try await shop.provider.ask(.GET, path, key: key)
                return answer.status == 503 ? nil : answer
            }
        }
        #expect(try await shown("/v1/installations/new").status == 404)
        #expect(try await shown("/v1/installations/i0")["user"] == nil)
        #expect(try await shown("/v1/installations/i1").status == 200)
        #expect(try await shown("/v1/messages")["items"] == .array([]))
        #expect(try await shown("/v1/hooks")["items"] == .array([]))
        // Each of the connections to a database comes back by itself.
        let sent = try await firstValue {
            let answer = try await shop.provider.ask(
                .POST, "/v1/messages", message, key: key, headers: [("idempotency-key", "k")])
            return answer.status == 503 ? nil : answer
        }
        #expect(sent.status == 202)
        let id = try sent.text("id")
        let finished = try await firstValue {
            let finished = try await shop.provider.finished(id)
            return finished.status == 503 ? nil : finished
        }
        #expect(finished["accepted"] == .integer(Int64(shop.tokens.count)), "\(finished.body.text)")
        #expect(try await shop.received().map(\.token).sorted() == shop.tokens.sorted())
    }

    private static func withFaultyDisk(_ body: (_ folder: String, _ disk: Int32) async throws -> Void) async throws {
        try await TestProvider.withFolder { folder in
            try #require(faulty_disk_install() == 0)
            let disk = faulty_disk_add(folder)
            try #require(disk >= 0)
            try await body(folder, disk)
        }
    }

    @Test func `With a full disk nothing is accepted, and everything is when there is room again`() async throws {
        try await Self.withFaultyDisk { folder, disk in
            try await TestShop.run(devices: [nil, nil], folder: folder) { shop in
                // Repair the disk, so that the server can end even if the test fails.
                defer { faulty_disk_set(disk, FAULTY_DISK_NONE) }
                try await shop.register()
                faulty_disk_set(disk, FAULTY_DISK_FULL)
                try await Self.refused(shop)
                faulty_disk_set(disk, FAULTY_DISK_NONE)
                try await Self.acceptedAgain(shop)
            }
        }
    }

    @Test func `A campaign outlasts a full disk, and nobody gets it twice`() async throws {
        try await Self.withFaultyDisk { folder, disk in
            let log = InMemoryLogHandler()
            try await TestShop.run(
                devices: Array(repeating: nil, count: 60), folder: folder, logger: Logger(label: "test") { _ in log }
            ) { shop in
                defer { faulty_disk_set(disk, FAULTY_DISK_NONE) }
                try await shop.register()
                let id = try await shop.send(#","rate":30"#)
                _ = try await shop.provider.message(id) { $0["accepted"] != 0 }
                let before = faulty_disk_count(disk)
                faulty_disk_set(disk, FAULTY_DISK_FULL)
                // An outcome could not be stored.
                try await wait(while: faulty_disk_count(disk) == before)
                let waiting = try await shop.provider.message(id) { $0["cause"] != nil }
                #expect(waiting["state"] == "running")
                #expect(try waiting.text("cause").contains("The disk is full"))
                let listed = try await shop.provider.ask(.GET, "/v1/messages")
                #expect(listed["items", "0", "cause"] == waiting["cause"])
                #expect(
                    log.entries.contains {
                        $0.message == "A message waits" && "\($0.metadata["cause"] ?? "")".contains("The disk is full")
                    })
                faulty_disk_set(disk, FAULTY_DISK_NONE)
                #expect(try await shop.provider.finished(id)["accepted"] == 60)
                #expect(try await shop.received().map(\.token).sorted() == shop.tokens.sorted())
            }
        }
    }

    #if PostgreSQL
        @Test(.startsPrograms) func `While PostgreSQL is away nothing is accepted, and everything is when it is back`()
            async throws
        {
            try await TestServer.withOwn { database in
                let store = try await CampaignStoreChoice.test(try PostgresLocation(try await database.makeURL()))
                try await TestShop.run(devices: [nil, nil]) {
                    $0.store = store
                } _: { shop in
                    try await shop.register()
                    try await database.crash()
                    try await Self.refused(shop)
                    try await database.start()
                    try await wait(while: try await shop.provider.ask(.GET, "/ready").status != 200)
                    try await Self.acceptedAgain(shop)
                }
            }
        }
    #endif
}
