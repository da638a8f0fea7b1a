package import HTTPTypes
package import NIOCore
import Notifications

extension Problem {
    /// The answer to a request that never reaches the API.
    /// - Parameter fields: what every refusal of the server has.
    package func refusal(_ fields: HTTPFields) -> (head: HTTPResponse, body: ByteBuffer) {
        let body = ByteBuffer(string: document.text)
        var head = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
        head.headerFields[.contentType] = Self.mediaType
        head.headerFields[.contentLength] = String(body.readableBytes)
        return (head, body)
    }
}

extension HTTPRequest {
    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1).
    package var waitsForContinue: Bool { headerFields[.expect]?.lowercased() == "100-continue" }
}
