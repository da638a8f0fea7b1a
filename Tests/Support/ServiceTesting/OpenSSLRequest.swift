import Foundation
import SwiftASN1

/// Certificate requests that our own code would not make.
enum OpenSSLRequest {
    /// - Parameter arguments: the arguments of `openssl req`.
    static func make(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["openssl", "req", "-new", "-nodes", "-subj", "/CN=device", "-keyout", "/dev/null"] + arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the same request with another signature.
    static func tampered(_ pem: String) throws -> String {
        let document = try PEMDocument(pemString: pem)
        var bytes = Array(document.derBytes)
        bytes[bytes.count - 1] ^= 1
        return PEMDocument(type: document.discriminator, derBytes: bytes).pemString + "\n"
    }
}
