import CommonTesting
import Foundation
import Management
import NIOHTTP1
import NIOSSL
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The faults of TLS, as a client that checks certificates sees them.
@Suite("A rehearsal of TLS", .timeLimit(.minutes(2))) struct RehearsedTLSTests {
    private static func begin(_ rules: String, _ test: TestService) async throws -> String {
        let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"rules":[\#(rules)]}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(ManagementMessages.RehearsalBegun.self, from: answer.body).rehearsal
    }

    private static func own(_ test: TestService) throws -> String {
        try String(contentsOfFile: test.description.ca, encoding: .utf8)
    }

    private static func other(_ test: TestService) async throws -> String {
        let answer = try await test.ask("GET", "/other-ca.pem", key: "")
        #expect(answer.status == 200)
        #expect(answer.headers.first(name: "content-type") == "application/pem-certificate-chain")
        return answer.text
    }

    /// Whether a client completes the handshake.
    private static func connects(
        _ test: TestService,
        trusting authority: [String],
        serverName: String? = "localhost",
        _ change: (inout TLSConfiguration) -> Void = { _ in },
    ) async throws -> Bool {
        do {
            try await TLSProbe.shakeHands(
                port: test.port(\.provider), trusting: authority, serverName: serverName, change)
            return true
        } catch {
            return false
        }
    }

    /// Waits for failed handshakes, and returns their entries in the journal.
    private static func failed(_ count: Int, _ test: TestService) async throws -> [[String: Any]] {
        let answer = try await test.ask(
            "POST", "/v1/requests/wait",
            body: #"{"match":{"outcome":"failed"},"count":\#(count),"timeout":"PT60S"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let document = try JSONSerialization.jsonObject(with: answer.body) as? [String: Any]
        return try required(document?["requests"] as? [[String: Any]])
    }

    private static func findings(_ test: TestService) async throws -> [ManagementMessages.Finding] {
        let report: ManagementMessages.Report = try await test.administer("GET", "/v1/reports")
        return report.findings
    }

    @Test(arguments: [
        ("other-authority", "unknown_ca"), ("expired", "certificate_expired"), ("not-yet-valid", "certificate_expired"),
        ("incomplete-chain", "unknown_ca"), ("wrong-name", nil),
    ])
    func `A client that checks certificates refuses the fault`(_ fault: String, _ alert: String?) async throws {
        try await TestService.runInMemory { test in
            let own = try Self.own(test)
            #expect(try await Self.connects(test, trusting: [own]))
            let id = try await Self.begin(#"{"name":"bad","fault":{"certificate":"\#(fault)"}}"#, test)
            #expect(try await !Self.connects(test, trusting: [own]))
            if let alert {
                // The first client has left after its handshake, which is an entry, too.
                let entry = try required(try await Self.failed(2, test).first { $0["rule"] != nil })
                #expect(entry["alert"] as? String == alert, "\(entry)")
                #expect(entry["rule"] as? String == "bad")
                #expect(entry["serverName"] as? String == "localhost")
                #expect(entry["protocol"] as? String == "h2")
                #expect((entry["client"] as? String)?.hasPrefix("127.0.0.1:") == true)
                #expect(entry["status"] == nil)
            }
            _ = try await test.ask("DELETE", "/v1/rehearsals/\(id)")
            #expect(try await Self.connects(test, trusting: [own]))
        }
    }

    @Test func `The other authority is trusted by a client that was told to, and cross-signed chains by all`()
        async throws
    {
        try await TestService.runInMemory { test in
            let (own, other) = (try Self.own(test), try await Self.other(test))
            #expect(own != other)
            let id = try await Self.begin(#"{"fault":{"certificate":"other-authority"}}"#, test)
            #expect(try await Self.connects(test, trusting: [own, other]))
            #expect(try await !Self.connects(test, trusting: [own]))
            _ = try await test.ask("DELETE", "/v1/rehearsals/\(id)")
            #expect(try await !Self.connects(test, trusting: [other]))
            _ = try await Self.begin(#"{"fault":{"certificate":"cross-signed"}}"#, test)
            #expect(try await Self.connects(test, trusting: [own]))
            #expect(try await Self.connects(test, trusting: [other]))
        }
    }

    @Test func `The other authority is the same after a restart`() async throws {
        try await TestService.runTwice {
            try await Self.other($0)
        } _: { test, before in
            _ = try await Self.begin(#"{"fault":{"certificate":"other-authority"}}"#, test)
            #expect(try await Self.connects(test, trusting: [before]))
        }
    }

    @Test func `Only the given versions of TLS are offered`() async throws {
        try await TestService.runInMemory { test in
            let own = try Self.own(test)
            let id = try await Self.begin(#"{"fault":{"tls":{"versions":["1.2"]}}}"#, test)
            #expect(try await Self.connects(test, trusting: [own]))
            #expect(try await !Self.connects(test, trusting: [own]) { $0.minimumTLSVersion = .tlsv13 })
            _ = try await test.ask("DELETE", "/v1/rehearsals/\(id)")
            _ = try await Self.begin(#"{"fault":{"tls":{"versions":["1.3"]}}}"#, test)
            #expect(try await !Self.connects(test, trusting: [own]) { $0.maximumTLSVersion = .tlsv12 })
            _ = try await Self.failed(2, test)
            let ids = try await Self.findings(test).map(\.id)
            #expect(ids == ["certificate-refused", "certificate-refused"])
        }
    }

    @Test(arguments: ["reset", "hang", "slow"]) func `A handshake is disturbed`(_ fault: String) async throws {
        try await TestService.runInMemory { test in
            let own = try Self.own(test)
            let rule =
                #"{"name":"trouble","match":{"protocol":"h2"},"when":{"first":1},"fault":{"handshake":"\#(fault)"}}"#
            let id = try await Self.begin(rule, test)
            switch fault {
            case "slow": #expect(try await Self.connects(test, trusting: [own]))
            case "reset":
                #expect(try await !Self.connects(test, trusting: [own]))
                #expect(try await Self.failed(1, test).first?["cause"] as? String == "the service ended the connection")
            default:
                // The client gives up: nothing else ends the connection in time.
                let client = Task { try await Self.connects(test, trusting: [own]) }
                try await wait(while: try await Self.rule(id, test).fired == 0)
                client.cancel()
            }
            #expect(try await Self.rule(id, test).fired == 1)
            #expect(try await Self.connects(test, trusting: [own]))
            #expect(try await Self.rule(id, test).matched == 2)
        }
    }

    private static func rule(_ id: String, _ test: TestService) async throws -> ManagementMessages.RehearsalRule {
        let rehearsal: ManagementMessages.Rehearsal = try await test.administer("GET", "/v1/rehearsals/\(id)")
        return try required(rehearsal.rules.first)
    }

    @Test func `A rule selects connections by the server name`() async throws {
        try await TestService.run {
            $0.hostnames = ["push.example.com"]
        } _: { test in
            let own = try Self.own(test)
            _ = try await Self.begin(
                #"{"match":{"serverName":"Push.Example.com"},"fault":{"certificate":"expired"}}"#, test)
            #expect(try await Self.connects(test, trusting: [own]))
            #expect(try await !Self.connects(test, trusting: [own], serverName: "push.example.com"))
        }
    }

    @Test func `The binary API and the management of channels have the faults too`() async throws {
        try await TestService.runInMemory { test in
            let (own, port) = (try Self.own(test), try test.port(\.binary))
            let other = try await Self.other(test)
            func connects(_ protocols: [String], trusting authority: [String]) async throws -> Bool {
                do {
                    try await TLSProbe.shakeHands(port: port, trusting: authority, serverName: "localhost") {
                        $0.applicationProtocols = protocols
                        // The client's part of the handshake is over before the service asks for its certificate.
                        $0.maximumTLSVersion = .tlsv13
                    }
                    return true
                } catch {
                    return false
                }
            }
            let rule = #"{"match":{"protocol":"channels"},"fault":{"certificate":"other-authority"}}"#
            _ = try await Self.begin(rule, test)
            #expect(try await !connects(["h2"], trusting: [own]))
            #expect(try await connects(["h2"], trusting: [other]))
            let binary = try await Self.begin(
                #"{"match":{"protocol":"binary"},"when":{"first":1},"fault":{"handshake":"reset"}}"#, test)
            #expect(try await !connects([], trusting: [own]))
            #expect(try await Self.rule(binary, test).fired == 1)
            #expect(try await Self.connects(test, trusting: [own]))
            #expect(try await Self.rule(binary, test).matched == 1)
        }
    }

    @Test func `The report says who refused, who accepted, and who did not come back`() async throws {
        try await TestService.runInMemory { test in
            let own = try Self.own(test)
            let port = try test.port(\.provider)
            let id = try await Self.begin(#"{"fault":{"certificate":"expired"}}"#, test)
            // One client checks nothing. It sends a request, which shows the finding.
            let careless = try await WireClient.connect(
                port: port, authorityFile: test.description.ca, checksCertificates: false)
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            #expect(try await careless.send(headers.fields).status == 200)
            await careless.close()
            #expect(try await !Self.connects(test, trusting: [own]))
            _ = try await Self.failed(1, test)
            var findings = try await Self.findings(test)
            let accepted = try required(findings.first { $0.id == "certificate-accepted" })
            #expect(accepted.severity == "error")
            #expect(accepted.text.contains("127.0.0.1") && accepted.text.contains("expired"), "\(accepted.text)")
            #expect(accepted.requests == [1])
            let refused = try required(findings.first { $0.id == "certificate-refused" })
            #expect(refused.text.contains("certificate_expired"), "\(refused.text)")
            #expect(refused.severity == "note")
            #expect(!findings.contains { $0.id == "handshake-not-recovered" })
            _ = try await test.ask("DELETE", "/v1/rehearsals/\(id)")
            #expect(try await Self.findings(test).contains { $0.id == "handshake-not-recovered" })
            #expect(try await Self.connects(test, trusting: [own]))
            // The service notes the client's return after the client has finished the handshake.
            repeat {
                findings = try await Self.findings(test)
            } while findings.contains {
                $0.id == "handshake-not-recovered"
            }
        }
    }

    @Test func `A handshake that fails without a rehearsal is in the journal, and no request`() async throws {
        try await TestService.runInMemory { test in
            #expect(try await !Self.connects(test, trusting: [try await Self.other(test)]))
            let entry = try required(try await Self.failed(1, test).first)
            #expect(entry["alert"] as? String == "unknown_ca")
            #expect(entry["rule"] == nil)
            let list = try await test.ask("GET", "/v1/requests").text
            #expect(list.contains("unknown_ca"))
            #expect(try await test.ask("GET", "/v1/requests?team=ABCDE12345").text == "[]")
            let wait = try await test.ask("POST", "/v1/requests/wait", body: #"{"count":0,"timeout":"PT0.01S"}"#)
            #expect(wait.status == 200, "A wait counts requests: \(wait.text)")
            #expect(try await Self.findings(test).map(\.id) == ["handshake-failed"])
            #expect(try await test.ask("DELETE", "/v1/requests").text == #"{"deleted":1}"#)
            #expect(try await Self.findings(test) == [])
        }
    }

    @Test(.startsPrograms) func `Another client agrees`() async throws {
        try await TestService.runInMemory { test in
            _ = try await Self.begin(#"{"fault":{"certificate":"other-authority"}}"#, test)
            let port = try test.port(\.provider)
            func openssl(_ authority: String) async throws -> String {
                try await ChildProcess.run(
                    "openssl",
                    [
                        "s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", "-CAfile", authority,
                        "-verify_return_error", "-alpn", "h2",
                    ]
                ).output
            }
            #expect(try await openssl(test.description.ca).contains("Verification error"))
            #expect(try await Self.failed(1, test).first?["alert"] as? String == "unknown_ca")
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("other-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            try await Self.other(test).write(to: file, atomically: true, encoding: .utf8)
            #expect(try await openssl(file.path).contains("Verification: OK"))
        }
    }

    @Test(arguments: [
        (#"{"certificate":"stolen"}"#, "/rules/0/fault/certificate"),
        (#"{"certificate":true}"#, "/rules/0/fault/certificate"),
        (#"{"tls":{"versions":["1.1"]}}"#, "/rules/0/fault/tls/versions"), (#"{"tls":{}}"#, "/rules/0/fault/tls"),
        (#"{"tls":{"versions":[]}}"#, "/rules/0/fault/tls/versions"),
        (#"{"handshake":"late"}"#, "/rules/0/fault/handshake"),
        (#"{"handshake":"hang","accepted":true}"#, "/rules/0/fault/accepted"),
    ])
    func `A fault that is not possible is refused with its place`(_ fault: String, _ place: String) async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"rules":[{"fault":\#(fault)}]}"#)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == place, "\(answer.text)")
        }
    }

    @Test(arguments: ["team", "topic", "status", "outcome"])
    func `A connection has nothing of a request`(_ key: String) async throws {
        try await TestService.runInMemory { test in
            let value = key == "status" ? "200" : #""\#(key == "team" ? "ABCDE12345" : "pending")""#
            let rule = #"{"match":{"\#(key)":\#(value)},"fault":{"handshake":"hang"}}"#
            let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"rules":[\#(rule)]}"#)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == "/rules/0/match/\(key)", "\(answer.text)")
        }
    }
}
