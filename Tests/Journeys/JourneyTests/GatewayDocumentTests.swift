import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The commands in docs/gateway.md, in blocks marked `sh`, work if they are pasted into a shell. The service of the suite
/// plays Apple's.
@Suite(.service(), .timeLimit(.minutes(3))) struct GatewayDocumentTests {
    private static let bundleID = "com.example.chat"

    private static func blocks() throws -> [String] {
        try Repository.text("docs/gateway.md").components(separatedBy: "```sh\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    /// The block with this text.
    private static func block(_ text: String) throws -> String {
        try #require(try blocks().first { $0.contains(text) }, "docs/gateway.md has no block with \(text)")
    }

    /// A folder with the publisher's gateway, whose data is in `carillon-data`.
    private struct Publisher {
        let service: CarillonProcess
        let folder: String

        /// Runs pasted commands, with variables as the reader has set them.
        func run(_ script: String, _ variables: [String: String] = [:]) async throws -> String {
            let pasted = script.replacing("push.example.com:12197", with: try service.addresses(.production).provider)
            let set = variables.map { "\($0.key)='\($0.value)'" }.joined(separator: "\n")
            // The gateway of the test has no certificate that the system trusts.
            let trust = """
                PATH=$PWD/bin:$PATH
                curl() { command curl -q -sS --fail-with-body --noproxy '*' --cacert carillon-data/ca.pem "$@"; }
                """
            let finished = try await ChildProcess.run(
                "sh", ["-e", "-c", "\(trust)\n\(set)\n\(pasted)"], folder: folder)
            try #require(finished.status == 0, "\(pasted)\n\(finished.output) \(finished.errors)")
            return finished.output
        }
    }

    private func withPublisher(_ body: (Publisher) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/bin/carillon", withDestinationPath: BuiltCommand.path)
            try await CarillonProcess.with(data: folder + "/carillon-data") { service in
                let publisher = Publisher(service: service, folder: folder)
                _ = try await publisher.run(
                    "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_KEY1234567.p8")
                try await body(publisher)
            }
        }
    }

    /// Forwards to the service that plays Apple's, which this machine cannot reach.
    private func forwardToSuite(_ publisher: Publisher) async throws {
        let apple = try CarillonProcess.current
        let key = try apple.developmentKey
        _ = try await publisher.run(
            """
            carillon app upstream set --bundle-id \(Self.bundleID) --environment production \
                --url https://\(try apple.addresses(.production).provider) --ca '\(apple.ready.ca)' \
                --key-file '\(key.path)' --key-id \(key.keyID) --team-id \(key.teamID)
            """)
    }

    /// A device token of a phone with the app.
    private func deviceToken() async throws -> String {
        let apple = try CarillonProcess.current
        _ = try await apple.carillon(
            "app", "create", "--team", try apple.developmentKey.teamID, "--bundle-id", Self.bundleID)
        return try await apple.register(Self.bundleID, on: try await apple.activate(.production))
    }

    @Test func `The publisher's ten minutes and the instance's five`() async throws {
        try await withPublisher { publisher in
            _ = try await publisher.run(try Self.block("carillon team create"))
            try await forwardToSuite(publisher)
            let create = try Self.block("carillon grant create").trimmingCharacters(in: .whitespacesAndNewlines)
            let grant = try FoundationJSON(try await publisher.run(create + " --json"))
            let values = try ["clientKey", "teamID", "keyID", "path"].map { try #require(grant[$0]?.text) }
            #expect(values[1] == "ABCDE12345")
            let answer = try FoundationJSON(
                try await publisher.run(
                    try Self.block("/1/handles"), ["CLIENT_KEY": values[0], "DEVICE_TOKEN": try await deviceToken()]))
            let handle = try #require(answer["handle"]?.text)
            let send = try Self.block("/3/device/").replacing(
                "carillon send", with: "carillon send --ca carillon-data/ca.pem")
            _ = try await publisher.run(send, ["KEY_ID": values[2], "HANDLE": handle])
            let shown = try await publisher.run("carillon grant show \(try #require(grant["grant"]?.text)) --json")
            #expect(try FoundationJSON(shown)["sent"] == ["200": 2])
        }
    }

    @Test func `A grant is changed, its key is replaced, and a code registers a handle once`() async throws {
        try await withPublisher { publisher in
            _ = try await publisher.run(try Self.block("carillon team create"))
            let create = try Self.block("carillon grant create").trimmingCharacters(in: .whitespacesAndNewlines)
            let made = try FoundationJSON(try await publisher.run(create + " --registration code --json"))
            var values = ["DEVICE_TOKEN": String(repeating: "5a", count: 32)]
            for (name, member) in [("GRANT", "grant"), ("KEY_ID", "keyID"), ("CLIENT_KEY", "clientKey")] {
                values[name] = try #require(made[member]?.text)
            }
            let code = try Self.block("b64()").split(separator: "\n")[0] + "\n" + Self.block("CLAIMS=")
            values["CODE"] = try await publisher.run(code + "printf %s $CODE", values)
            let register = try Self.block("/1/handles").replacing(#"\"token\""#, with: #"\"code\":\"$CODE\",\"token\""#)
            #expect(try FoundationJSON(try await publisher.run(register, values))["handle"] != nil)
            let again = try await publisher.run("\(register.trimmingCharacters(in: .newlines)) || true", values)
            #expect(again.contains("used before"))

            let changed = try await publisher.run(
                try Self.block("carillon grant set") + "carillon grant show $GRANT --json", values)
            let lines = changed.split(separator: "\n")
            let shown = try FoundationJSON(String(try #require(lines.last)))
            #expect(shown["rate"] == 50 && shown["daily"] == nil && shown["topics"] == nil)
            let keys = try await publisher.run(
                try Self.block("carillon grant key add") + "carillon grant show $GRANT --json", values)
            let last = try FoundationJSON(String(try #require(keys.split(separator: "\n").last)))
            #expect(last["keyID"]?.text != values["KEY_ID"])
            #expect(FileManager.default.fileExists(atPath: publisher.folder + "/AuthKey_new.p8"))
        }
    }

    @Test func `An instance is invited, and makes its grant`() async throws {
        try await withPublisher { publisher in
            _ = try await publisher.run(try Self.block("carillon team create"))
            let invite = try Self.block("carillon grant invite").trimmingCharacters(in: .whitespacesAndNewlines)
            let invitation = try FoundationJSON(try await publisher.run(invite + " --json"))
            let made = try FoundationJSON(
                try await publisher.run(
                    try Self.block("/1/grants"), ["CODE": try #require(invitation["code"]?.text)]))
            #expect(made["teamID"] == "ABCDE12345")
            #expect(made["clientKey"]?.text?.hasPrefix("ck_") == true)
            let shown = try await publisher.run("carillon grant show \(try #require(made["grant"]?.text)) --json")
            #expect(try FoundationJSON(shown)["name"] == "chat.example.net")
        }
    }

    @Test func `A captured request is released to the upstream`() async throws {
        let (apple, bundleID) = (try CarillonProcess.current, "com.example.app")
        let key = try apple.developmentKey
        let token = try await apple.register(bundleID, on: try await apple.activate())
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with(data: folder + "/carillon-data", ["--journal", "10"]) { service in
                let set = try await service.carillon(
                    "app", "upstream", "set", "--bundle-id", bundleID, "--environment", "development", "--capture",
                    "--url", "https://\(try apple.addresses(.development).provider)", "--ca", apple.ready.ca,
                    "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID)
                #expect(set.status == 0, "\(set.errors)")
                let sent = try await service.carillon(
                    "send", "--token", token, "--topic", bundleID, "--alert", "Hello")
                #expect(sent.status == 0, "\(sent.errors)")
                let publisher = Publisher(service: service, folder: folder)
                let released = try await publisher.run(
                    try Self.block("/release").replacing("/17/", with: "/1/"),
                    ["SOCKET": service.data + "/admin.sock"])
                #expect(try FoundationJSON(released)["status"] == 200, "\(released)")
            }
        }
    }

    @Test func `The table of ports has the phones' door, and what a proxy in front passes on`() throws {
        let page = try Repository.text("docs/gateway.md")
        let machine = try #require(page.components(separatedBy: "\n## The machine\n").last)
        for text in ["`--web-push 0.0.0.0:443`", "`--web-push-plain`", "location /1/ {", "HTTP/1.1"] {
            #expect(machine.contains(text), "\(text)")
        }
    }

    @Test func `An app's notifications are forwarded, and then no more`() async throws {
        try await withPublisher { publisher in
            let output = try await publisher.run(
                """
                carillon team create --name Shop --team-id ABCDE12345
                carillon app create --team ABCDE12345 --bundle-id com.example.shop
                \(try Self.block("carillon app upstream remove"))
                """)
            #expect(output.contains("https://api.push.apple.com"))
        }
    }
}
