/// The unguessable part of a Web Push endpoint: who has it may send to its subscription (RFC 8030, 8.3). It must not be
/// written to a log, nor to a database as it is.
package struct EndpointID: Sendable, Hashable {
    package static let byteCount = 32
    /// The length of the text in an endpoint's path.
    package static let textLength = 43

    package let bytes: [UInt8]

    /// - Returns: nil unless there are ``byteCount`` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// - Parameter text: base64url without padding. Each endpoint has only one text.
    package init?(_ text: some StringProtocol) {
        let text = Array(text.utf8)
        guard text.count == Self.textLength, let bytes = Base64URL.decoded(text[...], .token) else { return nil }
        self.init(bytes)
    }

    /// 43 characters of base64url.
    package var text: String { String(decoding: Base64URL.encoded(bytes), as: UTF8.self) }

    /// The endpoint's URL.
    /// - Parameter origin: the service's origin for Web Push, without a slash at its end.
    package func url(at origin: String) -> String { origin + Self.path + text }

    /// The path of endpoints, before the identifier.
    package static let path = "/wp/"
}
