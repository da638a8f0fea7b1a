import HTTPTypes
package import Notifications

/// Why a request fails. All errors of an API have this form (RFC 9457).
package struct Problem: DocumentFault, Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    package var status: Int
    /// What happened and what to do, in one sentence for a person.
    package var detail: String
    /// The place of the fault in a document, as a JSON pointer (RFC 6901); "" is the whole document. Nil if the fault
    /// is not in a document.
    package var pointer: String?
    /// With status 405: the methods that the path allows.
    package var allow: String?

    package init(_ status: Int, _ detail: String, pointer: String? = nil) {
        self.status = status
        self.detail = detail
        self.pointer = pointer
    }

    package var description: String { detail }

    /// The media type of an error.
    package static let mediaType = "application/problem+json"
}

extension Problem {
    /// A problem for an invalid value in a document.
    package static func invalid(_ pointer: String, _ detail: String) -> Problem {
        Problem(400, detail, pointer: pointer)
    }

    package static func notFound(_ detail: String) -> Problem { Problem(404, detail) }

    package static func methodNotAllowed(_ method: String, allowed: [String]) -> Problem {
        var problem = Problem(
            405, "This path does not take \(method); it takes \(allowed.joined(separator: ", ")).")
        problem.allow = allowed.joined(separator: ", ")
        return problem
    }
}

extension Problem: Codable {
    private enum CodingKeys: String, CodingKey {
        case type
        case title
        case status
        case detail
        case pointer
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        status = try container.decode(Int.self, forKey: .status)
        detail = try container.decode(String.self, forKey: .detail)
        pointer = try container.decodeIfPresent(String.self, forKey: .pointer)
    }

    package func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }

    /// The problem as JSON.
    package var document: JSONValue {
        var members: JSONMembers = [
            // This type means that the status says what kind of error it is (RFC 9457, 4.2.1).
            // fits: a status of three digits
            "type": "about:blank", "title": .string(title), "status": .integer(Int64(status)),
            "detail": .string(detail),
        ]
        members["pointer"] = pointer.map(JSONValue.string)
        return .object(members)
    }

    /// The name of the status (RFC 9110, 15).
    private var title: String {
        let known: [HTTPResponse.Status] = [
            .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .requestTimeout, .conflict,
            .gone, .preconditionFailed, .contentTooLarge, .unsupportedMediaType, .tooManyRequests,
            .requestHeaderFieldsTooLarge,
            .internalServerError, .notImplemented, .serviceUnavailable,
        ]
        return known.first { $0.code == status }?.reasonPhrase ?? "Error"
    }

    package static let schema = Schema.named(
        "Problem",
        .object([
            .required("type", .string(.any)),
            .required("title", .string(.any)),
            .required("status", .integer(400...599)),
            .required("detail", .string(.any), "What happened and what to do."),
            .optional("pointer", .string(.any), "The place of the fault in the request's document (RFC 6901)."),
        ]))
}
