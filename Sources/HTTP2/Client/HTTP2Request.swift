package import NIOCore

/// A request, as a client that is in no hurry writes it.
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
