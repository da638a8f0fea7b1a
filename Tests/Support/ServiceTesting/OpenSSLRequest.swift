import CommonTesting
import SwiftASN1

/// Certificate requests that our own code would not make.
enum OpenSSLRequest {
    /// - Parameter arguments: the arguments of `openssl req`.
    static func make(_ arguments: [String]) async throws -> String {
        let request = ["req", "-new", "-nodes", "-subj", "/CN=device", "-keyout", "/dev/null"]
        return try await ChildProcess.run("openssl", request + arguments).output
    }

    /// Returns the same request with another signature.
    static func tampered(_ pem: String) throws -> String {
        let document = try PEMDocument(pemString: pem)
        var bytes = Array(document.derBytes)
        bytes[bytes.count - 1] ^= 1
        return PEMDocument(type: document.discriminator, derBytes: bytes).pemString + "\n"
    }
}
