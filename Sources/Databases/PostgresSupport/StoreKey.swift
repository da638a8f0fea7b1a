package import Crypto
import Notifications
package import Storage

/// The key that encrypts a store's secrets. It is in a file on each node and never in the database. So whoever can
/// read the database or its backup cannot make device tokens or certificates.
package struct StoreKey: Sendable {
    package let key: SymmetricKey

    /// - Parameter text: 64 hexadecimal digits; a newline may follow.
    /// - Returns: nil if it is anything else.
    package init?(hexadecimal text: String) {
        let digits = text.utf8.reversed().drop { $0 == 10 || $0 == 13 }.reversed()
        guard digits.count == 64, let bytes = Hexadecimal.bytes(String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        key = SymmetricKey(data: bytes)
    }

    /// Encrypts a secret with AES-GCM. It can be decrypted only under the same name.
    package func seal(_ value: [UInt8], as name: String) throws(StoreError) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(value, using: key, authenticating: Array(name.utf8))
            return box.combined.map(Array.init) ?? []
        } catch {
            throw StoreError(.unavailable, "A secret cannot be sealed.")
        }
    }

    package func unseal(_ sealed: [UInt8], as name: String) throws(StoreError) -> [UInt8] {
        do {
            return Array(
                try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: Array(name.utf8)))
        } catch {
            throw .wrongStoreKey
        }
    }
}

extension StoreError {
    package static let wrongStoreKey = StoreError(
        .unreadable,
        "The store key is not the one with which this database was made: use the key file of the other nodes.")
}
