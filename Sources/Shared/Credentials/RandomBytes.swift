import Crypto

/// Random bytes of the cryptography library, for keys and for names that nobody can guess.
package enum RandomBytes {
    /// How many bytes a key has, and what nobody can guess: 256 bits.
    package static let count = 32

    package static func make() -> [UInt8] {
        SymmetricKey(size: .init(bitCount: 8 * count)).withUnsafeBytes { Array($0) }
    }
}
