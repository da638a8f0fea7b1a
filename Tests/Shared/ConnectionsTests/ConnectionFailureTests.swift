import Foundation
import NIOCore
import NIOSSL
import Testing

@testable import Connections

@Suite struct ConnectionFailureTests {
    @Test(arguments: [BoringSSLError.zeroReturn, .syscallError, .noError, .wantRead])
    func `A handshake that ends without a reason is logged without the libraries' names`(_ error: BoringSSLError) {
        let cause = ConnectionFailure.cause(of: NIOSSLError.handshakeFailed(error))
        #expect(cause == ConnectionFailure.endedInHandshake)
    }

    @Test func `A file with authorities that cannot be used is described without the libraries' names`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(Self.cause(ofFile: path) == "No such file or directory")
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path))
        #expect(Self.cause(ofFile: path) == "there is no certificate in PEM")
    }

    private static func cause(ofFile path: String) -> String? {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(path)
        do {
            _ = try NIOSSLContext(configuration: configuration)
            return nil
        } catch {
            return ConnectionFailure.cause(of: error)
        }
    }

    @Test func `A file that cannot be read is described by the system's text`() {
        let error = #expect(throws: (any Error).self) { _ = try Data(contentsOf: URL(fileURLWithPath: "/none")) }
        #expect(error.map { ConnectionFailure.cause(of: $0) } == "No such file or directory")
    }

    /// An error with the text that NIOSSL gives BoringSSL's errors.
    private struct LibraryError: Error, CustomStringConvertible {
        let name: String
        var description: String {
            "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL routines:"
                + "OPENSSL_internal:\(name) at handshake.cc:393]))"
        }
    }

    @Test(arguments: [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "the server's certificate has expired, or is not from an authority that is trusted here"
        ),
        ("WRONG_VERSION_NUMBER", "what listens there does not speak TLS"),
        ("SSLV3_ALERT_CERTIFICATE_REVOKED", "the server does not accept this side's certificate, or requires one"),
        ("TLSV1_ALERT_UNKNOWN_CA", "the server does not accept this side's certificate, or requires one"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "the TLS handshake failed"),
    ])
    func `A client says in words why TLS failed, and names the error`(name: String, words: String) {
        #expect(ConnectionFailure.clientCause(of: LibraryError(name: name)) == "\(words) (\(name))")
        #expect(ConnectionFailure.cause(of: LibraryError(name: name)) == "TLS: \(name)")
    }

    @Test(arguments: [
        ("HTTP_REQUEST", "the client speaks HTTP without TLS: its URL has to begin with https (HTTP_REQUEST)"),
        ("WRONG_VERSION_NUMBER", "what the client sent is not TLS (WRONG_VERSION_NUMBER)"),
        (
            "PEER_DID_NOT_RETURN_A_CERTIFICATE",
            "the client has no certificate, and this port requires one (PEER_DID_NOT_RETURN_A_CERTIFICATE)"
        ),
        ("BAD_DECRYPT", "TLS: BAD_DECRYPT"),
    ])
    func `A server says in words what a client did wrong, and names the error`(name: String, words: String) {
        #expect(ConnectionFailure.serverCause(ConnectionFailure.cause(of: LibraryError(name: name))) == words)
    }

    @Test func `A client says that the certificate is for other names, and other causes as they are`() {
        let cause = ConnectionFailure.clientCause(of: NIOSSLExtraError.failedToValidateHostname)
        #expect(cause == "the server's certificate is for other names")
        let refused = IOError(errnoCode: ECONNREFUSED, reason: "connect")
        #expect(ConnectionFailure.clientCause(of: refused) == "Connection refused")
        let ended = NIOSSLError.handshakeFailed(.zeroReturn)
        #expect(ConnectionFailure.clientCause(of: ended) == ConnectionFailure.endedInHandshake)
    }
}
