package import NIOCore

/// A response in a simple form, for a client that makes a few requests.
package struct HTTP2Response: Sendable {
    package var status: Int
    package var body: ByteBuffer
}
