import Crypto

/// A one-time code that lets a device in: 20 capital letters and digits, some 103 bits, so that nobody finds one by
/// trying.
package struct ActivationCode: Sendable, Hashable, CustomStringConvertible {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    private static let length = 20
    /// In bytes; a header that is longer holds no code.
    private static let maximumBytes = 64

    package let text: String

    package static func random(using generator: inout some RandomNumberGenerator) -> ActivationCode {
        ActivationCode(text: String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) }))
    }

    private init(text: String) { self.text = text }

    /// A code as a device says it, right or not; nil where it is too long to be one.
    package init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// What is kept of it: SHA-256, 32 bytes.
    package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    package var description: String { "ActivationCode" }
}
