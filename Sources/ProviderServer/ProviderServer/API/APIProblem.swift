import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications
import Storage

/// Why a request fails: one form for all errors of the API (RFC 9457).
struct APIProblem: DocumentFault, Sendable, Hashable {
    var status: Int
    /// What happened and what to do, in one sentence for a person.
    var detail: String
    /// The place of the fault in the request's document (RFC 6901); nil if no document is at fault.
    var pointer: String?

    init(_ status: Int, _ detail: String, pointer: String? = nil) {
        self.status = status
        self.detail = detail
        self.pointer = pointer
    }

    static func invalid(_ pointer: String, _ detail: String) -> APIProblem { APIProblem(400, detail, pointer: pointer) }
    static func notFound(_ detail: String) -> APIProblem { APIProblem(404, detail) }

    init(_ error: StoreError) {
        switch error.code {
        case .missing: self.init(404, error.cause)
        case .exists, .conflict, .ended, .revoked: self.init(409, error.cause)
        case .unknown, .unavailable, .unreadable: self.init(503, error.cause)
        }
    }
}

extension APIProblem {
    var document: JSONValue { .object(members) }

    private var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "type": "about:blank",
            "title": .string(title),
            "status": .integer(Int64(status)),
            "detail": .string(detail),
        ]
        members["pointer"] = pointer.map(JSONValue.string)
        return members
    }

    var response: Response { response(with: [:]) }

    /// - Parameter more: further members of the problem document (RFC 9457, 3.2).
    func response(with more: [String: JSONValue]) -> Response {
        let document = JSONValue.object(members.merging(more) { known, _ in known })
        var response = document.response(HTTPResponse.Status(code: status))
        response.headers[.contentType] = "application/problem+json"
        if status == 401 { response.headers[.wwwAuthenticate] = "Bearer" }
        // The client may send the request again after this many seconds (RFC 9110, 10.2.3).
        if status == 429 || status == 503 { response.headers[.retryAfter] = "5" }
        return response
    }
}

extension APIProblem {
    /// The title is the name of the status (RFC 9110, 15).
    private var title: String {
        let known: [HTTPResponse.Status] = [
            .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .conflict, .contentTooLarge,
            .unsupportedMediaType, .tooManyRequests, .internalServerError, .serviceUnavailable, .requestTimeout,
            .requestHeaderFieldsTooLarge,
        ]
        return known.first { $0.code == status }?.reasonPhrase ?? "Error"
    }
}

extension JSONValue {
    /// An answer with this value.
    func response(_ status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
