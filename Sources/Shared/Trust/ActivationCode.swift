import Crypto

/// A one-time code that activates a device: 20 capital letters and digits, about 103 bits, so that nobody can guess
/// one.
package struct ActivationCode: Sendable, Hashable, CustomStringConvertible {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    private static let length = 20
    /// The largest size of a header with a code, in bytes. A longer header cannot contain a valid code.
    private static let maximumBytes = 64

    package let text: String

    package static func random(using generator: inout some RandomNumberGenerator) -> ActivationCode {
        ActivationCode(text: String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) }))
    }

    private init(text: String) { self.text = text }

    /// A code that a device sent, valid or not; nil if it is too long for one.
    package init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// The form in which it is stored: SHA-256, 32 bytes.
    package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    package var description: String { "ActivationCode" }
}
