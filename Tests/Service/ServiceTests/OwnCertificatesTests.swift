import APNSDevice
import Foundation
import HTTP2
import Management
import Notifications
import Service
import Testing
import Trust

@testable import ServiceTesting

/// Certificates and keys that an organisation supplies instead of the service's own.
@Suite(.timeLimit(.minutes(2)))
struct OwnCertificatesTests {
    /// Writes a server's chain, its key and its root, as another authority makes them.
    private func write(_ authority: CertificateAuthority, to folder: String) throws -> ServerCertificateFiles {
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueServerCertificate(
            names: [], now: Date().timeIntervalSince1970, using: &random)
        let files = ServerCertificateFiles(
            certificate: folder + "/server.pem", key: folder + "/server.key", authority: folder + "/root.pem")
        try Data(issued.chainPEM.utf8).write(to: URL(fileURLWithPath: files.certificate))
        try Data(try required(issued.keyPEM).utf8).write(to: URL(fileURLWithPath: files.key))
        try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: files.authority))
        return files
    }

    private func authority() throws -> CertificateAuthority {
        var random = SystemRandomNumberGenerator()
        return try CertificateAuthority.create(now: Date().timeIntervalSince1970, using: &random)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("own-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    @Test func `The service uses a server certificate from files, and commands know its root`() async throws {
        try await withFolder { folder in
            let files = try write(authority(), to: folder)
            try await TestService.run {
                $0.serverCertificate = files
            } _: { test in
                #expect(test.description.ca == files.authority)
                let token = try await test.makeDeviceToken()
                let client = try await test.connectProvider()
                let headers = ProviderHeaders(token, token: try test.providerToken()).fields
                #expect(try await client.send(headers).status == 200)
                await client.close()
            }
        }
    }

    @Test func `Changed files are read again, and open connections go on`() async throws {
        try await withFolder { folder in
            let authority = try authority()
            let files = try write(authority, to: folder)
            try await TestService.run {
                $0.serverCertificate = files
            } _: { test in
                let old = try await test.connectProvider()
                #expect(await old.isServed(ProviderHeaders("00", token: nil).fields))
                let first = try await old.serverCertificate()
                _ = try write(authority, to: folder)
                try test.service.renewCertificate(now: .now())
                let new = try await test.connectProvider()
                #expect(await new.isServed(ProviderHeaders("00", token: nil).fields))
                #expect(try await new.serverCertificate() != first)
                #expect(await old.isServed(ProviderHeaders("00", token: nil).fields))
                await old.close()
                await new.close()
            }
        }
    }

    @Test func `If the files cannot be read any more, the old certificate stays`() async throws {
        try await withFolder { folder in
            let files = try write(authority(), to: folder)
            try await TestService.run {
                $0.serverCertificate = files
            } _: { test in
                try Data("half a file".utf8).write(to: URL(fileURLWithPath: files.certificate))
                #expect(throws: ServiceError.self) { try test.service.renewCertificate(now: .now()) }
                let client = try await test.connectProvider()
                #expect(await client.isServed(ProviderHeaders("00", token: nil).fields))
                await client.close()
            }
        }
    }

    @Test func `The service's own certificate is replaced before it expires, and open connections go on`() async throws
    {
        try await TestService.run { test in
            let old = try await test.connectProvider()
            #expect(await old.isServed(ProviderHeaders("00", token: nil).fields))
            let first = try await old.serverCertificate()
            // The certificate is valid for 397 days, and is renewed in the last 30.
            try test.service.renewCertificate(now: Timestamp.now().advanced(by: .seconds(366 * 86_400)))
            let same = try await test.connectProvider()
            #expect(await same.isServed(ProviderHeaders("00", token: nil).fields))
            #expect(try await same.serverCertificate() == first)
            try test.service.renewCertificate(now: Timestamp.now().advanced(by: .seconds(368 * 86_400)))
            let new = try await test.connectProvider()
            // The new certificate is not valid until a year from now, so the client refuses it, which shows that it is
            // used.
            #expect(await !new.isServed(ProviderHeaders("00", token: nil).fields))
            #expect(await old.isServed(ProviderHeaders("00", token: nil).fields))
            await old.close()
            await same.close()
        }
    }

    @Test func `A folder's authority is made under the operator's root, and stays under it`() async throws {
        try await withFolder { folder in
            let external = try authority()
            let files = AuthorityFiles(certificate: folder + "/root.pem", key: folder + "/root.key")
            try Data(external.rootPEM.utf8).write(to: URL(fileURLWithPath: files.certificate))
            try Data(try required(external.secrets.root.keyPEM).utf8).write(to: URL(fileURLWithPath: files.key))
            let change: (inout Settings) -> Void = { settings in
                settings.dataFolder = folder + "/data"
                settings.authority = files
            }
            try await TestService.run(change) { test in
                #expect(try String(contentsOfFile: test.description.ca, encoding: .utf8) == external.rootPEM)
                let secrets = try String(contentsOfFile: folder + "/data/secrets/authority.json", encoding: .utf8)
                let key = try required(external.secrets.root.keyPEM).split(separator: "\n")[1]
                #expect(!secrets.contains(key))
            }
            try await TestService.run(change) { test in
                let token = try await test.makeDeviceToken()
                #expect(token.count == 64)
            }
            try Data(try authority().rootPEM.utf8).write(to: URL(fileURLWithPath: files.certificate))
            await #expect(throws: ServiceError.self) { try await TestService.run(change) { _ in } }
        }
    }

    @Test func `A chain that does not lead to the clients' root ends the start`() async throws {
        try await withFolder { folder in
            let files = try write(authority(), to: folder)
            try Data(try authority().rootPEM.utf8).write(to: URL(fileURLWithPath: files.authority))
            let error = await #expect(throws: ServiceError.self) {
                try await TestService.run({ $0.serverCertificate = files }) { _ in }
            }
            #expect(error?.description.contains(files.authority) == true)
        }
    }

    @Test func `Without the key of the authority, only some certificates can be rehearsed`() async throws {
        try await withFolder { folder in
            let files = try write(authority(), to: folder)
            try await TestService.run {
                $0.serverCertificate = files
            } _: { test in
                for (fault, status) in [
                    ("expired", 400), ("wrong-name", 400), ("cross-signed", 400), ("other-authority", 200),
                    ("incomplete-chain", 200),
                ] {
                    let rules = #"{"rules":[{"name":"ok","fault":{"certificate":"\#(fault)"}}]}"#
                    let answer = try await test.ask("POST", "/v1/rehearsals", body: rules)
                    #expect(answer.status == status, "\(answer.text)")
                    if status == 400 {
                        #expect(answer.problem?["pointer"] as? String == "/rules/0/fault/certificate")
                    }
                }
            }
        }
    }
}
