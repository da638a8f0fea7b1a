import CommonTesting
import Foundation
import NIOSSL
import Testing

/// A self-signed certificate for 127.0.0.1. All tests of a run share it.
struct Certificate: Sendable {
    let folder: URL
    var certificate: String { folder.appendingPathComponent("certificate.pem").path }
    var key: String { folder.appendingPathComponent("key.pem").path }

    static let shared = Task { () throws -> Certificate in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("http2-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let made = Certificate(folder: folder)
        let command = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", made.key, "-out", made.certificate,
            ])
        try #require(command.status == 0, "\(command.errors)")
        return made
    }

    func serverContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        )
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }

    func clientContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(certificate)
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }
}
