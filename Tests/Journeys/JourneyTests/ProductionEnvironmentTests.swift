import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The two environments: each with its own listeners, device tokens and device certificates.
@Suite(.service(), .timeLimit(.minutes(2))) struct ProductionEnvironmentTests {
    private let bundleID = "com.example.app"

    private func push(_ token: String) throws -> WirePush {
        try WirePush(token: token, topic: bundleID, from: try CarillonProcess.current.developmentProvider)
    }

    @Test func `Activation takes a code in production`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let made = try await service.carillon(
                "device", "activate", "--environment", "production", "--out", folder + "/phone.pem")
            #expect(made.status != 0)
            #expect(made.output.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: folder + "/phone.pem"))
        }
    }

    @Test func `Invite prints a code that lets a device in`() async throws {
        let service = try CarillonProcess.current
        let invitation = try await service.carillon("device", "invite", "--environment", "production")
        #expect(invitation.status == 0)
        let object = try invitation.object
        #expect(object.keys == ["code", "expires", "id"])
        let code = try #require(object["code"]?.text)
        try await withTemporaryFolder { folder in
            let made = try await service.carillon(
                "device", "activate", "--environment", "production", "--code", code, "--out", folder + "/phone.pem")
            #expect(made.status == 0, "\(made.errors)")
        }
    }

    @Test func `A code is good once`() async throws {
        let service = try CarillonProcess.current
        let invitation = try await service.carillon("device", "invite", "--environment", "production")
        let code = try #require(try invitation.object["code"]?.text)
        try await withTemporaryFolder { folder in
            let first = try await service.carillon(
                "device", "activate", "--environment", "production", "--code", code, "--out", folder + "/1.pem")
            let second = try await service.carillon(
                "device", "activate", "--environment", "production", "--code", code, "--out", folder + "/2.pem")
            #expect(first.status == 0)
            #expect(second.status != 0)
            #expect(second.output.isEmpty)
        }
    }

    @Test func `A code is good for its environment alone`() async throws {
        let service = try CarillonProcess.current
        let invitation = try await service.carillon("device", "invite", "--environment", "development")
        let code = try #require(try invitation.object["code"]?.text)
        try await withTemporaryFolder { folder in
            let made = try await service.carillon(
                "device", "activate", "--environment", "production", "--code", code, "--out", folder + "/phone.pem")
            #expect(made.status != 0)
        }
    }

    @Test func `A notification travels in production`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate(.production)
        let token = try await service.register(bundleID, on: identity)
        try await service.listen(as: identity, in: .production) { device in
            let answer = try await service.send(try push(token), to: .production)
            #expect(answer.status == 200)
            try await device.expectNext(alert: "Hello")
        }
    }

    @Test func `Send reaches production`() async throws {
        let service = try CarillonProcess.current
        let token = try await service.register(bundleID, on: try await service.activate(.production))
        let sent = try await service.carillon(
            "send", "--environment", "production", "--token", token, "--topic", bundleID, "--alert", "Hello")
        #expect(sent.status == 0)
        #expect(try sent.object["status"] == 200)
    }

    @Test func `A development token is a bad one in production`() async throws {
        let service = try CarillonProcess.current
        let token = try await service.register(bundleID, on: try await service.activate())
        let answer = try await service.send(try push(token), to: .production)
        #expect(answer.status == 400)
        #expect(try answer.json["reason"] == "BadDeviceToken")
    }

    @Test func `A production token is a bad one in development`() async throws {
        let service = try CarillonProcess.current
        let token = try await service.register(bundleID, on: try await service.activate(.production))
        let answer = try await service.send(try push(token), to: .development)
        #expect(answer.status == 400)
        #expect(try answer.json["reason"] == "BadDeviceToken")
    }

    @Test func `A device of the other environment is refused`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate(.development)
        let requests = [
            ("PUT", "/1/apps/\(bundleID)"), ("GET", "/1/crl"), ("POST", "/1/activations"), ("GET", "/1/other"),
        ]
        for (method, path) in requests {
            let answer = try await service.device(method, path, as: identity, in: .production)
            #expect(answer.status == 403)
            #expect(try answer.json["reason"] == "BadCertificateEnvironment")
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("nghttp")))
    func `A device of the other environment gets GOAWAY`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate(.development)
        let courier = try service.addresses(.production).courier
        let shown = try await ChildProcess.run(
            "nghttp",
            ["-v", "--cert", identity, "--key", identity, "-t", "20", "https://\(courier)/1/notifications"])
        #expect(shown.output.contains(":status: 403"))
        let goAway = try #require(shown.output.range(of: "recv GOAWAY frame"), "\(shown.output) \(shown.errors)")
        #expect(shown.output[goAway.lowerBound...].contains(#"{"reason":"BadCertificateEnvironment"}"#))
    }

    @Test func `A service of one environment has no other`() async throws {
        try await CarillonProcess.with(["--environment", "development"]) { service in
            #expect(
                try FoundationJSON(service.readyLine).keys == ["event", "development", "ca", "caPEM", "management"])
            let sent = try await service.carillon(
                "send", "--environment", "production", "--token", "00", "--topic", bundleID, "--alert", "Hello")
            #expect(sent.status != 0)
            #expect(sent.output.isEmpty)
            #expect(sent.errors.contains("production"))
        }
    }

    /// All ports are chosen, because those of the plan may be in use on this machine.
    @Test(arguments: [false, true])
    func `A chosen port replaces the plan's, as an argument and as a variable`(isVariable: Bool) async throws {
        let arguments = [
            "--environment", "production", "--ports", "standard", "--management", "127.0.0.1:0", "--binary-port", "0",
            "--feedback-port", "0", "--courier-port", "production=0",
        ]
        let provider = isVariable ? [] : ["--provider-port", "production=0"]
        let variables = isVariable ? ["CARILLON_PROVIDER_PORT": "production=0"] : [:]
        try await CarillonProcess.with(arguments + provider, environment: variables) { service in
            #expect(try service.port(of: service.addresses(.production).provider) != 12_197)
            let token = try await service.register(bundleID, on: try await service.activate(.production))
            let push = try WirePush(token: token, topic: bundleID, from: service.developmentProvider)
            #expect(try await service.send(push, to: .production).status == 200)
        }
    }
}
