package import HTTPTypes
package import Hummingbird

/// One request of an API. The router, `/openapi.json` and the checks of parameters and bodies all use this value.
package struct APIOperation<Server: APIServer>: Sendable {
    package typealias Perform = @Sendable (Server, Call<Server.Caller>) async throws -> Response

    package let method: HTTPRequest.Method
    /// The path, with parameters in braces: `/v1/teams/{teamID}`.
    package let path: String
    /// What the request does, in a few words.
    package let summary: String
    /// The parameters of the path in their order, and those of the query.
    package let parameters: [Parameter]
    /// The body; nil if the request has none.
    package let body: Body?
    package let answer: Answer
    /// Header fields that a successful answer may have, each with its meaning.
    package let headers: [String: String]
    /// The error statuses of this request, beside those that every request can get. Their bodies are a ``Problem``.
    package let problems: [Int]
    /// The answers whose status is neither that of ``answer`` nor a ``Problem``, by status.
    package let otherAnswers: [Int: Schema]
    /// Which clients may send the request.
    package let access: Server.Access
    package let perform: Perform

    package init(
        method: HTTPRequest.Method,
        path: String,
        summary: String,
        parameters: [Parameter] = [],
        body: Body? = nil,
        answer: Answer,
        headers: [String: String] = [:],
        problems: [Int] = [],
        otherAnswers: [Int: Schema] = [:],
        access: Server.Access = .usual,
        perform: @escaping Perform,
    ) {
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.body = body
        self.answer = answer
        self.headers = headers
        self.problems = problems
        self.otherAnswers = otherAnswers
        self.access = access
        self.perform = perform
    }

    /// Whether a request's path matches the operation's path.
    func matches(_ path: some StringProtocol) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let pattern = self.path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == pattern.count
            && zip(parts, pattern).allSatisfy { part, expected in
                expected.hasPrefix("{") ? !part.isEmpty : part == expected
            }
    }
}

/// A parameter of a path or of a query.
package struct Parameter: Sendable {
    package enum Place: String, Sendable {
        case path
        case query
    }

    package let place: Place
    package let name: String
    package let schema: Schema
    package let meaning: String
    /// Whether every request has to have it.
    let isRequired: Bool

    package static func path(_ name: String, _ format: TextFormat, _ meaning: String) -> Parameter {
        Parameter(place: .path, name: name, schema: .string(format), meaning: meaning, isRequired: true)
    }

    /// - Parameter isRequired: whether the operation refuses a request without it.
    package static func query(
        _ name: String, _ schema: Schema, _ meaning: String, isRequired: Bool = false
    ) -> Parameter {
        Parameter(place: .query, name: name, schema: schema, meaning: meaning, isRequired: isRequired)
    }

    /// The maximum number of items of a list's page, which ``Call/limit`` reads.
    package static let limit = query(
        "limit", .integer(1...Int64(APILimits.listItems)),
        "How many at most; \(APILimits.listItems) if it is not given.")
}

extension [Parameter] {
    /// The parameters of every list: the maximum number of items, and the name after which the page begins.
    package static func list(after name: String, _ format: TextFormat = .any) -> [Parameter] {
        [
            .limit,
            .query(
                "after", .string(format),
                "Only what comes after this \(name). The header Link names the next page, if there is one."),
        ]
    }
}

/// The body of a request.
package struct Body: Sendable {
    /// The form of a JSON body; nil if the operation reads the body itself, piece by piece.
    package let schema: Schema?
    package private(set) var mediaTypes = [MediaType.json]
    /// The largest allowed body, in bytes.
    package let maximumBytes: Int
    /// Whether a request may leave out the body. It is then read as `{}`.
    package private(set) var isOptional = false
    /// Whether the schema is checked before the operation is performed, because the operation does not read the body.
    private(set) var isChecked = false

    /// A JSON body that the operation reads: by a ``JSONForm``, or by a reader whose keys are those of the schema.
    package init(reading schema: Schema, maximumBytes: Int = APILimits.bodyBytes, isOptional: Bool = false) {
        self.schema = schema
        self.maximumBytes = maximumBytes
        self.isOptional = isOptional
    }

    /// A body of any length.
    package init(streamed mediaTypes: [String]) {
        schema = nil
        self.mediaTypes = mediaTypes
        maximumBytes = .max
    }

    /// No body, or an object without keys.
    package static var empty: Body {
        var body = Body(reading: .object([]), isOptional: true)
        body.isChecked = true
        return body
    }
}

/// The answer of an operation that succeeds.
package enum Answer: Sendable {
    /// - Parameter others: media types that the request may ask for in place of JSON.
    case json(Schema, status: Int = 200, others: [String] = [])
    /// A body that is not JSON, with its media types.
    case other([String])
    /// An answer without a body, status 204.
    case nothing

    var status: Int {
        switch self {
        case .json(_, let status, _): status
        case .other: 200
        case .nothing: 204
        }
    }

    /// The schema of each media type; nil for those that are not JSON.
    var content: [(mediaType: String, schema: Schema?)] {
        switch self {
        case .json(let schema, _, let others): [(MediaType.json, schema)] + others.map { ($0, nil) }
        case .other(let types): types.map { ($0, nil) }
        case .nothing: []
        }
    }
}

/// Which clients may send a request.
package protocol OperationAccess: Sendable {
    /// Of an operation that says nothing else.
    static var usual: Self { get }
    /// Of a request to a path that does not exist.
    static var unknownPath: Self { get }
    /// Whether the request needs a key.
    var needsKey: Bool { get }
}
