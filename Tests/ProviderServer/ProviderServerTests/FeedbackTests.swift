import CommonTesting
import Foundation
import Management
import NIOHTTP1
import Notifications
import Service
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

#if PostgreSQL
    import PostgresClient
    import PostgresSupport
    import PostgresTesting
#endif

/// The feedback service of a Carillon ends installations (Guide, 3.1.3), over real TLS.
@Suite(.timeLimit(.minutes(3))) struct FeedbackTests {
    /// A day that ends when the test says so.
    private final class Day: Sendable {
        private let ends: AsyncStream<Void>
        private let end: AsyncStream<Void>.Continuation

        init() { (ends, end) = AsyncStream.makeStream() }

        func pass() { end.yield() }

        @Sendable func sleep(_ duration: Duration) async {
            guard duration == ProviderServerLimits.feedbackInterval else {
                try? await Task.sleep(for: duration)
                return
            }
            for await _ in ends { break }
        }
    }

    /// The document of an app with a certificate.
    private static func document(_ carillon: TestService, feedback: Bool) async throws -> String {
        let team = try required(carillon.description.key).teamID
        let made: ManagementMessages.CertificateMade = try await carillon.administer(
            "POST", "/v1/certificates",
            ManagementMessages.NewCertificate(team: team, bundleID: carillon.bundleID, environment: "development"))
        var place: [String: JSONValue] = [
            "url": .string("https://127.0.0.1:\(try carillon.port(\.provider))"),
            "authority": .string(try String(contentsOfFile: carillon.description.ca, encoding: .utf8)),
            "certificate": .string(made.chain + (made.privateKey ?? "")),
        ]
        if feedback { place["feedback"] = .string("https://127.0.0.1:\(try carillon.port(\.feedback))") }
        let document: JSONValue = ["teamID": .string(team), "environments": ["development": .object(place)]]
        return document.text
    }

    /// Makes a device token whose app was removed, and sends to it, which puts it into the feedback list.
    private static func goneToken(_ carillon: TestService) async throws -> String {
        let token = try await carillon.makeDeviceToken(isGone: true)
        try await send(carillon, to: token)
        return token
    }

    /// Sends to a device token whose app was removed, which puts it into the feedback list.
    private static func send(_ carillon: TestService, to token: String) async throws {
        let sent = try await carillon.ask(
            "POST", "/v1/notifications",
            body: #"{"token":"\#(token)","topic":"\#(carillon.bundleID)","payload":{"aps":{"alert":"x"}}}"#)
        #expect(sent.problem?["status"] as? Int == 410)
    }

    private static func reason(_ provider: TestProvider, _ id: String, _ bundleID: String) async throws -> JSONValue? {
        try await provider.ask(.GET, "/v1/installations/\(id)?bundleID=\(bundleID)")["ended", "reason"]
    }

    @Test func `The feedback service is read every day, and ends installations that did not register again`()
        async throws
    {
        let day = Day()
        let now = Mutex(Timestamp(milliseconds: 1_600_000_000_000))
        try await TestService.run { _ in
        } _: { carillon in
            try await TestProvider.run {
                $0.clock.now = { now.withLock(\.self) }
                $0.clock.sleep = day.sleep
            } _: { provider in
                let query = "?bundleID=\(carillon.bundleID)"
                let app = "/v1/apps/\(carillon.bundleID)"
                let made = try await provider.ask(.PUT, app, try await Self.document(carillon, feedback: false))
                try #require(made.status == 201, "\(made.body.text)")
                let hook = try await provider.ask(
                    .POST, "/v1/hooks", #"{"bundleID":"\#(carillon.bundleID)","url":"http://127.0.0.1:1/"}"#)
                func register(_ id: String, _ token: String) async throws {
                    let answer = try await provider.ask(
                        .PUT, "/v1/installations/\(id)" + query,
                        #"{"deviceToken":"\#(token)","environment":"development"}"#)
                    try #require(answer.status == 200)
                }
                func waitForReason(of id: String) async throws {
                    try await wait(while: try await Self.reason(provider, id, carillon.bundleID) == nil)
                }
                try await register("gone", try await Self.goneToken(carillon))
                // This app registered after the service had found that it was removed.
                now.withLock { $0 = Timestamp(milliseconds: 4_000_000_000_000) }
                try await register("back", try await Self.goneToken(carillon))
                now.withLock { $0 = Timestamp(milliseconds: 1_600_000_000_000) }
                let put = try await provider.ask(.PUT, app, try await Self.document(carillon, feedback: true))
                #expect(put.status == 200 && put["environments", "development", "feedback"] != nil)
                try await waitForReason(of: "gone")
                #expect(try await Self.reason(provider, "gone", carillon.bundleID) == "feedback")
                #expect(try await Self.reason(provider, "back", carillon.bundleID) == nil)
                // Hooks get the same event as after a 410.
                let events = try await provider.ask(
                    .GET, "/v1/hooks/\(try hook.text("id"))/deliveries" + query)
                #expect(events["items", "0", "type"] == "installations.ended")
                // The next day.
                try await register("later", try await Self.goneToken(carillon))
                day.pass()
                try await waitForReason(of: "later")
                #expect(try await Self.reason(provider, "back", carillon.bundleID) == nil)
            }
        }
    }

    #if PostgreSQL
        @Test(.startsPrograms)
        func `A server reads the feedback service of an app that another server has changed`() async throws {
            let day = Day()
            let location = try await TestServer.makeDatabase()
            let store = try await CampaignStoreChoice.test(location)
            try await TestService.run { _ in
            } _: { carillon in
                try await TestProvider.run {
                    $0.store = store
                    $0.clock.sleep = day.sleep
                } _: { provider in
                    let app = "/v1/apps/\(carillon.bundleID)"
                    // The other server ends before a device token is in the list, so it cannot be the one that reads it.
                    try await TestProvider.run {
                        $0.store = store
                    } _: { other in
                        for (feedback, status) in [(false, 201), (true, 200)] {
                            let answer = try await other.ask(
                                .PUT, app, try await Self.document(carillon, feedback: feedback))
                            try #require(answer.status == status, "\(answer.body.text)")
                        }
                    }
                    // It learns of the app within a second.
                    try await wait(while: try await provider.ask(.GET, app).status == 404)
                    let query = "?bundleID=\(carillon.bundleID)"
                    let token = try await carillon.makeDeviceToken(isGone: true)
                    let answer = try await provider.ask(
                        .PUT, "/v1/installations/gone" + query,
                        #"{"deviceToken":"\#(token)","environment":"development"}"#)
                    try #require(answer.status == 200, "\(answer.body.text)")
                    // It was registered before the app was removed.
                    let connection = PostgresConnection(location, name: "test")
                    _ = try await connection.execute("UPDATE carillon_provider.installation SET registered = 0")
                    await connection.close()
                    // Only now, because a server that reads the list empties it. If this one has read it already, it reads
                    // it again the next day.
                    try await Self.send(carillon, to: token)
                    day.pass()
                    try await wait(while: try await Self.reason(provider, "gone", carillon.bundleID) != "feedback")
                }
            }
        }
    #endif

    @Test func `The feedback service needs a certificate and a port`() async throws {
        try await TestProvider.run { provider in
            func put(_ feedback: String) async throws -> TestProvider.Answer {
                let base = try JSONDecoder().decode(JSONValue.self, from: Data(TestShop.other().utf8))
                return try await provider.ask(
                    .PUT, "/v1/apps/com.example.app",
                    base.merging(["environments": ["development": ["feedback": .string(feedback)]]]).text)
            }
            for bad in ["https://127.0.0.1", "http://127.0.0.1:2196", "127.0.0.1:2196", "https://127.0.0.1:2196"] {
                let answer = try await put(bad)
                // The last address is valid, but the app has a signing key.
                #expect(answer.status == 400 && answer.pointer == "/environments/development/feedback", "\(bad)")
            }
        }
    }
}
