/// The secrets that all nodes share: the token keys and the certificate authority.
package protocol Secrets: Sendable {
    /// Returns the secret with this name; nil if there is none.
    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]?

    /// Stores the value unless a secret with this name already exists.
    /// - Returns: The stored value, so that nodes that start at the same time agree.
    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8]

    /// Returns a stream of the names of all secrets, and then of each that any node adds. A node that is cut off
    /// gets them later.
    func nameStream() -> AsyncStream<SecretName>

    /// Whether another node may add secrets too. If so, a secret that is unknown here may exist, and the store has
    /// to be asked.
    var isShared: Bool { get }
}

/// Identifies a secret.
package struct SecretName: RawRepresentable, Sendable, Hashable {
    /// The name: lower-case letters, digits, hyphens and periods. It may become a file's name.
    package let rawValue: String

    /// - Returns: nil if `rawValue` is empty, longer than 64 bytes, begins with a period or contains another
    ///   character.
    package init?(rawValue: String) {
        let allowed = rawValue.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, (1...64).contains(rawValue.utf8.count), rawValue.utf8.first != UInt8(ascii: ".") else {
            return nil
        }
        self.rawValue = rawValue
    }
}

extension SecretName {
    /// Creates a name that is a constant in the source code.
    package init(known name: StaticString) { rawValue = name.description }
}
