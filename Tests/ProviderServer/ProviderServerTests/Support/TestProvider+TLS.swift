import Foundation
import Trust

@testable import ProviderServer
@testable import ServiceTesting

extension TestProvider {
    /// Makes a certificate in the folder, and returns the settings for it and the file of its authority.
    private static func makeTLS(_ folder: String) throws -> (tls: (certificate: String, key: String), authority: String)
    {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var generator = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        let authority = try CertificateAuthority.create(now: now, using: &generator)
        let issued = try authority.issueServerCertificate(names: [], now: now, using: &generator)
        let files = [
            ("/server.pem", issued.chainPEM), ("/server.key", issued.keyPEM ?? ""), ("/root.pem", authority.rootPEM),
        ]
        for (name, text) in files { try text.write(toFile: folder + name, atomically: true, encoding: .utf8) }
        return ((folder + "/server.pem", folder + "/server.key"), folder + "/root.pem")
    }

    /// Runs a server with TLS.
    static func runWithTLS(
        _ change: (inout ProviderServer.Settings) -> Void = { _ in },
        _ body: (_ provider: TestProvider, _ port: Int, _ authority: String) async throws -> Void,
    ) async throws {
        try await withFolder { folder in
            let (tls, authority) = try makeTLS(folder + "-tls")
            try await run(folder: folder) {
                $0.tls = tls
                change(&$0)
            } _: { provider in
                let port = try required(provider.url.split(separator: ":").last.flatMap { Int($0) })
                try await body(provider, port, authority)
            }
            try FileManager.default.removeItem(atPath: folder + "-tls")
        }
    }
}
