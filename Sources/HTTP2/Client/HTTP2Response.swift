package import NIOCore

/// A response, as a client that is in no hurry reads it.
package struct HTTP2Response: Sendable {
    package var status: Int
    /// Names in lower case; of repeated fields the last.
    package var headers: [String: String]
    package var body: ByteBuffer
}
