package import NIOCore

/// A response, as a client that is in no hurry reads it.
package struct HTTP2Response: Sendable {
    package var status: Int
    package var body: ByteBuffer
}
