import Credentials
import Notifications

/// The client key of a grant: `ck_` and 43 characters. It is in every copy of an app and so no secret: it can only make
/// handles (docs/gateway.md).
package struct GrantClientKey: Sendable, Hashable {
    package static let prefix = "ck_"
    /// The longest text that is compared, in bytes. A key has 46.
    package static let maximumBytes = 64

    package let text: String

    /// A new key with 256 random bits.
    package init() {
        text = Self.prefix + String(decoding: Base64URL.encoded(RandomBytes.make()), as: UTF8.self)
    }
}
