import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Makes the API's JSON answers.
enum JSONAnswer {
    static let mediaType = "application/json"

    /// - Throws: never for the API's messages, which contain only text, numbers and lists of them.
    static func make(_ message: some Encodable) throws -> Response {
        response(.ok, mediaType, try encoder().encode(message))
    }

    static func make(_ problem: Problem) -> Response {
        // Text and numbers can always be encoded.
        let body = (try? encoder().encode(problem)) ?? Data()
        var response = response(HTTPResponse.Status(code: problem.status), Problem.mediaType, body)
        if let allow = problem.allow { response.headers[.allow] = allow }
        if problem.status == 401 { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }

    static func response(_ status: HTTPResponse.Status, _ mediaType: String, _ body: Data) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = mediaType
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return encoder
    }
}
