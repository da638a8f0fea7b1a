package import Foundation
package import HTTPTypes
package import Hummingbird
import NIOCore
package import Notifications

/// The media types of the answers.
package enum MediaType {
    package static let json = "application/json"
    /// One JSON object on each line.
    package static let lines = "application/x-ndjson"
    package static let events = "text/event-stream"
    /// Certificates in PEM.
    package static let pem = "application/x-pem-file"

    /// The type of a field's value without parameters, in lower case (RFC 9110, 8.3.1).
    package static func essence(of value: String) -> String {
        String(value.prefix { $0 != ";" }).trimmingBlanks.lowercased()
    }
}

extension Response {
    /// An answer with a message.
    package static func json<Message: JSONMessage>(
        _ message: Message, _ status: HTTPResponse.Status = .ok,
    ) -> Response {
        Message.form.response(message, status)
    }

    /// An answer with a message that has no form.
    /// - Throws: never for messages that contain only text, numbers and lists of them.
    package static func json(_ message: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        try JSONValue(encoding: message).response(status)
    }

    package init(_ status: HTTPResponse.Status, _ mediaType: String, _ body: Data) {
        self.init(
            status: status, headers: [.contentType: mediaType], body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    package init(_ status: HTTPResponse.Status, _ mediaType: String, text: String) {
        self.init(
            status: status, headers: [.contentType: mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// - Parameter more: further members of the problem document (RFC 9457, 3.2).
    package init(_ problem: Problem, with more: JSONMembers = [:]) {
        let document = JSONValue.object(more.merging(problem.document.members))
        self.init(HTTPResponse.Status(code: problem.status), Problem.mediaType, text: document.text)
        if let allow = problem.allow { headers[.allow] = allow }
        if problem.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
        // The client may send the request again after this many seconds (RFC 9110, 10.2.3).
        if problem.status == 429 || problem.status == 503 { headers[.retryAfter] = "5" }
    }

    /// Adds the header fields that every answer has.
    package func protected() -> Response {
        var response = self
        // Tell browsers not to cache an answer, not to guess another media type, and not to embed it in pages of other
        // origins.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        return response
    }
}

extension JSONForm {
    /// An answer with a value.
    package func response(_ value: Value, _ status: HTTPResponse.Status = .ok) -> Response {
        write(value).response(status)
    }
}

extension JSONValue {
    /// An answer with this value.
    package func response(_ status: HTTPResponse.Status = .ok) -> Response {
        Response(status, MediaType.json, text: text)
    }
}
