/// What all nodes must share and nobody else may know: the token keys and the certificate authority.
package protocol Secrets: Sendable {
    /// The secret of that name; nil where there is none.
    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]?

    /// Keeps the value unless a secret of that name is there already.
    /// - Returns: The one that is kept, so that nodes which start together agree.
    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8]

    /// The names of all secrets that there are, and then of each that is added, by whichever node. A node that is cut off
    /// hears of them later.
    func names() -> AsyncStream<SecretName>

    /// Whether another node may add secrets too. Then one that is not known here may be there all the same, and has to be
    /// asked for.
    var isShared: Bool { get }
}

/// Names a secret.
package struct SecretName: RawRepresentable, Sendable, Hashable {
    /// Lower-case letters, digits, hyphens and periods; it may become a file's name.
    package let rawValue: String

    /// - Returns: nil when `rawValue` is empty, longer than 64 bytes, begins with a period or holds another character.
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
    /// A name that stands in the source.
    package init(known name: StaticString) { rawValue = name.description }
}
