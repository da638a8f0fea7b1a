import CommonTesting
import Foundation
import Management
import PrivateFiles
import Service
import Testing
import Trust

@testable import ServiceTesting

/// A revoked device, or one whose certificate has expired, resumes an earlier TLS session (RFC 8446, 2.2). The handshake
/// does not check its certificate, so the service has to say afterwards what is wrong. Otherwise the device would try for
/// ever.
@Suite(.startsPrograms, .timeLimit(.minutes(2)))
struct ResumedSessionTests {
    /// Makes a device, has it keep a TLS session, and revokes the device.
    private func withRevokedSession(
        _ version: String,
        _ body: (_ request: (String, String) async throws -> String) async throws -> Void,
    ) async throws {
        try await TestService.run { test in
            let certificate = try await test.makeDeviceCertificate()
            let client = try OpenSSLClient(
                port: test.port(\.courier), authorityFile: test.description.ca, certificate: certificate,
                version: version)
            defer { client.removeFiles() }
            let first = try await client.request("GET", "/1/crl", session: .keep) { $0.contains("END X509 CRL") }
            #expect(first.contains("New, TLS"))
            let id = try await test.deviceID(of: certificate)
            let _: ManagementMessages.RevokedDevice = try await test.administer(
                "DELETE", "/v1/devices/\(id)?environment=development")
            try await body { try await client.request($0, $1, session: .resume) { _ in false } }
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `A device that opens its stream gets the line, GOAWAY and the end`(version: String) async throws {
        try await withRevokedSession(version) { request in
            let answer = try await request("GET", "/1/notifications")
            #expect(answer.contains("Reused, TLS"))
            let line = try #require(answer.range(of: #"{"end":"revoked"}"#))
            let goAway = try #require(answer.range(of: #"{"reason":"BadCertificate"}"#))
            #expect(line.upperBound <= goAway.lowerBound)
        }
    }

    @Test(arguments: ["/1/apps/com.example.app", "/1/state"])
    func `Every other request is refused with a reason, and GOAWAY follows`(path: String) async throws {
        try await withRevokedSession("-tls1_3") { request in
            let answer = try await request(path == "/1/state" ? "POST" : "PUT", path)
            #expect(answer.contains("Reused, TLS"))
            #expect(answer.contains(#""reason":"BadCertificate""#))
            #expect(answer.contains(#"{"reason":"BadCertificate"}"#))
            #expect(!answer.contains("token"))
        }
    }

    @Test func `A device that sends no request gets GOAWAY too`() async throws {
        try await withRevokedSession("-tls1_3") { request in
            let answer = try await request("", "")
            #expect(answer.contains("Reused, TLS"))
            #expect(answer.contains(#"{"reason":"BadCertificate"}"#))
        }
    }

    /// Makes a device whose certificate expires soon, has it keep a TLS session, and waits until it has expired.
    private func withExpiredSession(
        _ body: (_ request: (String, String) async throws -> String) async throws -> Void
    ) async throws {
        try await TestService.run { test in
            let secrets = try await SharedSecrets.load(
                from: FileSecrets(folder: test.service.folder.path + "/secrets"), now: .now())
            let good = try await test.makeDeviceCertificate()
            // On a slow machine the first one has expired before its handshake.
            for seconds in [3.0, 40] {
                let expiry = Date(timeIntervalSinceNow: seconds)
                let certificate = try ForgedCertificate(notAfter: expiry).make(
                    like: good.chainPEM, by: secrets.authority.secrets.devices)
                let client = try OpenSSLClient(
                    port: test.port(\.courier), authorityFile: test.description.ca, certificate: certificate,
                    version: "-tls1_3")
                defer { client.removeFiles() }
                let first = try await client.request("GET", "/1/crl", session: .keep) { $0.contains("END X509 CRL") }
                guard first.contains("END X509 CRL") else { continue }
                try await wait(while: Date() <= expiry)
                return try await body { try await client.request($0, $1, session: .resume) { _ in false } }
            }
            Issue.record("Both certificates expired before their handshakes.")
        }
    }

    @Test func `One whose certificate has expired gets the line, GOAWAY and the end`() async throws {
        try await withExpiredSession { request in
            let answer = try await request("GET", "/1/notifications")
            #expect(answer.contains("Reused, TLS"))
            let line = try #require(answer.range(of: #"{"end":"revoked"}"#))
            let goAway = try #require(answer.range(of: #"{"reason":"BadCertificate"}"#))
            #expect(line.upperBound <= goAway.lowerBound)
            let other = try await request("PUT", "/1/apps/com.example.app")
            #expect(other.contains("The device certificate has expired."))
            #expect(other.contains(#"{"reason":"BadCertificate"}"#))
        }
    }
}
