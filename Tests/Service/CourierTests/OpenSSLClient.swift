import CommonTesting
import Foundation

@testable import ServiceTesting

/// An HTTP/2 client over `openssl s_client`, which can resume a TLS session; NIOSSL's client cannot.
struct OpenSSLClient {
    enum Session {
        /// Keep the connection's session.
        case keep
        /// Resume the kept one.
        case resume
    }

    private let folder: URL
    private let arguments: [String]

    /// - Parameter version: `-tls1_2` or `-tls1_3`.
    init(port: Int, authorityFile: String, certificate: ClientCertificate, version: String) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let identity = folder.appendingPathComponent("identity.pem")
        try Data((certificate.chainPEM + certificate.keyPEM).utf8).write(to: identity)
        arguments = [
            "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authorityFile, "-cert", identity.path,
            "-cert_chain", identity.path, "-key", identity.path, "-alpn", "h2", "-ign_eof", version,
        ]
    }

    func removeFiles() { try? FileManager.default.removeItem(at: folder) }

    /// Connects, and sends one request without a body unless `method` is empty.
    /// - Parameter isEnough: gets the output so far. If it returns true, the connection is closed.
    /// - Returns: The output: the service's bytes and openssl's own messages.
    func request(
        _ method: String,
        _ path: String,
        session: Session,
        until isEnough: @escaping @Sendable (String) -> Bool,
    ) async throws -> String {
        let file = folder.appendingPathComponent("session.pem").path
        let arguments = arguments + (session == .keep ? ["-sess_out", file] : ["-sess_in", file])
        // The input stays open until the end, because openssl ends the connection when its input ends.
        return try await ChildProcess.with("openssl", arguments, staysOpen: true) { client in
            try client.type(Self.bytes(method, path))
            await client.output.wait(until: isEnough)
            return client.output.text
        }
    }

    /// The preface, empty SETTINGS, and HEADERS whose fields are in no table (RFC 9113, 3.4; RFC 7541, 6.2.2).
    private static func bytes(_ method: String, _ path: String) -> [UInt8] {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
        guard !method.isEmpty else { return preface }
        var block: [UInt8] = []
        for (name, value) in [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)] {
            block += [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
        }
        // END_STREAM and END_HEADERS.
        return preface + [0, 0, UInt8(block.count), 1, 5, 0, 0, 0, 1] + block
    }
}
