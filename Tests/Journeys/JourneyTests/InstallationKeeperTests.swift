import CommonTesting
import APNSDevice
import Foundation
import Synchronization
import Testing

@testable import ServiceTesting

/// The Swift helper for apps, with a `carillon provider serve`.
@Suite(.timeLimit(.minutes(3))) struct InstallationKeeperTests {
    /// The time, the delays and the key of a keeper.
    private final class Control: Sendable {
        private struct State {
            var now = Date(timeIntervalSince1970: 1_800_000_000)
            var delays: [Duration] = []
            var failures = 0
        }

        private let state = Mutex(State())
        let key: String

        init(_ key: String, failures: Int = 0) {
            self.key = key
            state.withLock { $0.failures = failures }
        }

        var delays: [Duration] { state.withLock(\.delays) }
        func advance(_ seconds: TimeInterval) { state.withLock { $0.now += seconds } }

        struct SignedOut: Error {}

        /// A new keeper, as after a launch of the app.
        func keeper(
            _ server: String,
            _ file: String,
            _ change: (inout InstallationKeeper.Configuration) -> Void = { _ in },
        ) throws -> InstallationKeeper {
            var configuration = InstallationKeeper.Configuration()
            configuration.now = { self.state.withLock(\.now) }
            configuration.sleep = { delay in self.state.withLock { $0.delays.append(delay) } }
            change(&configuration)
            return try InstallationKeeper(server: server, file: file, configuration: configuration) {
                try self.state.withLock { state in
                    state.failures -= 1
                    if state.failures >= 0 { throw SignedOut() }
                }
                return self.key
            }
        }
    }

    private static func installation(_ tags: Set<String> = ["news"]) -> AppInstallation {
        AppInstallation(
            deviceToken: "00fc13", environment: .development, languages: ["sv-SE", "en"],
            timeZone: "Europe/Stockholm", tags: tags, appVersion: "2.1", values: ["name": "Anna"],
            tokens: [.voip: "01", .liveActivity: "02"],
            activities: ["order-17": "03"])
    }

    @Test func `An installation is sent once, and again when something changed or a day has passed`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let (file, control) = (folder + "/installation.json", Control(server.key))
            let keeper = try control.keeper(server.url, file)
            #expect(try await keeper.update(Self.installation()) == .sent)
            let id = try await keeper.identifier
            let shown = try await server.show(id)
            #expect(shown["deviceToken"] == "00fc13" && shown["languages"] == ["sv-SE", "en"])
            #expect(shown["timeZone"] == "Europe/Stockholm" && shown["appVersion"] == "2.1")
            #expect(shown["appTags"] == ["news"] && shown["appValues"] == ["name": "Anna"])
            #expect(
                shown["tokens"] == ["voip": "01", "liveactivity": "02"] && shown["activities"] == ["order-17": "03"])
            // The next launch.
            let next = try control.keeper(server.url, file)
            #expect(try await next.update(Self.installation()) == .unchanged)
            #expect(try await next.identifier == id)
            #expect(try await next.update(Self.installation(["news", "b", "a"])) == .sent)
            #expect(try await server.show(id)["appTags"] == ["a", "b", "news"])
            #expect(try await next.update(Self.installation(["a", "news", "b"])) == .unchanged)
            control.advance(InstallationKeeper.interval - 1)
            #expect(try await next.update(Self.installation(["a", "news", "b"])) == .unchanged)
            control.advance(1)
            #expect(try await next.update(Self.installation(["a", "news", "b"])) == .sent)
            // A clock that was set back.
            control.advance(-10)
            #expect(try await next.update(Self.installation(["a", "news", "b"])) == .sent)
            // Only the owner reads the file, and it names neither the device nor the user.
            #expect(try permissions(ofFile: file) == 0o600)
            #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("00fc13"))
            #expect(control.delays.isEmpty)
        }
    }

    @Test func `An update is sent again after a failure, with growing delays`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let control = Control(server.key, failures: 3)
            let keeper = try control.keeper(server.url, folder + "/a.json")
            #expect(try await keeper.update(Self.installation()) == .sent)
            let delays = control.delays
            #expect(delays.count == 3)
            for (delay, seconds) in zip(delays, [1, 2, 4]) {
                #expect(delay <= .seconds(seconds) && delay >= .milliseconds(seconds * 500))
            }
            // The number of attempts is limited.
            let tired = Control(server.key, failures: .max)
            let error = await #expect(throws: DeviceError.self) {
                try await tired.keeper(server.url, folder + "/b.json") { $0.attempts = 4 }.update(Self.installation())
            }
            #expect(error?.isTemporary == true && tired.delays.count == 3)
            // Nobody answers at this address.
            let lost = Control(server.key)
            let gone = await #expect(throws: DeviceError.self) {
                try await lost.keeper("http://127.0.0.1:1", folder + "/c.json") { $0.attempts = 2 }
                    .update(Self.installation())
            }
            #expect(gone?.code == .notConnected && lost.delays.count == 1)
        }
    }

    @Test func `What the server refuses is not sent again`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let control = Control("ck_unknown")
            let error = await #expect(throws: DeviceError.self) {
                try await control.keeper(server.url, folder + "/a.json").update(Self.installation())
            }
            #expect(error?.code == .refused && error?.reason == "401" && control.delays.isEmpty)
            // The cause is the server's sentence.
            let bad = await #expect(throws: DeviceError.self) {
                try await Control(server.key).keeper(server.url, folder + "/b.json").update(Self.installation(["a b"]))
            }
            #expect(bad?.reason == "400" && bad?.cause.contains("a tag") == true)
            // Another installation with the same identifier does not have the secret.
            let (file, stolen) = (folder + "/c.json", folder + "/d.json")
            let own = try Control(server.key).keeper(server.url, file)
            try await own.update(Self.installation())
            let id = try await own.identifier
            try #"{"id":"\#(id)","secret":"another secret of the thief"}"#
                .write(toFile: stolen, atomically: true, encoding: .utf8)
            let theft = await #expect(throws: DeviceError.self) {
                try await Control(server.key).keeper(server.url, stolen).update(
                    AppInstallation(deviceToken: "ff", environment: .development))
            }
            #expect(theft?.reason == "403")
            #expect(try await server.show(id)["deviceToken"] == "00fc13")
            for address in ["http://push.example.com", "ftp://a", "https://", "nonsense", "https://a?b=c"] {
                #expect(throws: DeviceError.self, "\(address)") { try control.keeper(address, file) }
            }
        }
    }

    @Test func `The app tells the number on its icon, and what was opened`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let keeper = try Control(server.key).keeper(server.url, folder + "/installation.json")
            try await keeper.update(Self.installation())
            let id = try await keeper.identifier
            try await keeper.setBadge(3)
            try await keeper.update(Self.installation(["offers"]))
            #expect(try await server.show(id)["badge"] == 3)
            try await keeper.setBadge(0)
            #expect(try await server.show(id)["badge"] == nil)
            let negative = await #expect(throws: DeviceError.self) { try await keeper.setBadge(-1) }
            #expect(negative?.code == .refused && negative?.reason == "400")
            let unknown = await #expect(throws: DeviceError.self) { try await keeper.opened("no message") }
            #expect(unknown?.code == .refused && unknown?.reason == "404")
        }
    }

    @Test func `A newer update replaces one that waits`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let (sleeps, begins) = AsyncStream<Void>.makeStream()
            let keeper = try Control(server.key, failures: 1).keeper(server.url, folder + "/a.json") {
                $0.sleep = { _ in
                    begins.yield()
                    // Waits until it is cancelled.
                    for await _ in AsyncStream<Never>(Never.self, { _ in }) {}
                    try Task.checkCancellation()
                }
            }
            async let first = keeper.update(Self.installation(["old"]))
            for await _ in sleeps { break }
            #expect(try await keeper.update(Self.installation(["new"])) == .sent)
            #expect(try await first == .replaced)
            #expect(try await server.show(try await keeper.identifier)["appTags"] == ["new"])
        }
    }

    @Test func `It speaks TLS, and checks the server's certificate`() async throws {
        try await withTemporaryFolder { tls in
            let (certificate, key) = (tls + "/server.pem", tls + "/server.key")
            let made = try await ChildProcess.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout",
                    key, "-out", certificate,
                ])
            try #require(made.status == 0, "\(made.errors)")
            try await ProviderServerProcess.run(["--certificate", certificate, "--key", key]) { server, folder in
                #expect(server.url.hasPrefix("https://"))
                let keeper = try Control(server.key).keeper(server.url, folder + "/a.json") {
                    $0.authorityFile = certificate
                }
                #expect(try await keeper.update(Self.installation()) == .sent)
                let distrustful = await #expect(throws: DeviceError.self) {
                    try await Control(server.key).keeper(server.url, folder + "/b.json") { $0.attempts = 1 }
                        .update(Self.installation())
                }
                #expect(distrustful?.code == .notConnected)
            }
        }
    }
}
