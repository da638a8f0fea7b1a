package import NIOCore

/// A request in a simple form, for a client that makes a few of them.
package struct HTTP2Request: Sendable {
    package var method: String
    package var path: String
    package var body: ByteBuffer?

    package init(_ method: String, _ path: String, body: ByteBuffer? = nil) {
        self.method = method
        self.path = path
        self.body = body
    }
}
