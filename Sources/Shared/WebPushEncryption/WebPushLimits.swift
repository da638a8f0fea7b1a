/// The sizes of Web Push's encryption, each with the source of its value.
package enum WebPushLimits {
    /// The largest body of a message, in bytes (RFC 8030, 7.2). A longer one is not decrypted.
    package static let bodyBytes = 4096
    /// The size of a subscription's secret, in bytes (RFC 8291, 3.2).
    package static let secretBytes = 16
    /// The size of a salt, in bytes (RFC 8188, 2.1).
    package static let saltBytes = 16
    /// The size of an uncompressed point of P-256, in bytes (RFC 8291, 3.1).
    package static let publicKeyBytes = 65
    /// The size of the tag at the end of each record, in bytes (RFC 8188, 2).
    static let tagBytes = 16
    /// The smallest record size: a tag, a delimiter and one byte of content (RFC 8188, 2.1).
    static let smallestRecord = 18
    /// The record size that senders name, in bytes: that of RFC 8291, 5. It is more than any body has.
    static let recordBytes = 4096
    /// The size of the header before the key identifier, in bytes: salt, record size, length (RFC 8188, 2.1).
    static let headerBytes = 21
}
