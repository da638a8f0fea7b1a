import HTTPTypes
import Hummingbird

/// One request of the API. The router, `/openapi.json` and the check of bodies all use this value.
struct ManagementOperation: Sendable {
    let method: HTTPRequest.Method
    /// The path, with parameters in braces: `/v1/teams/{teamID}`.
    let path: String
    /// What the request does, in a few words.
    let summary: String
    /// The parameters of the path in their order, and those of the query.
    var parameters: [Parameter] = []
    /// The JSON body; nil if the request has none.
    var body: Body?
    let answer: Answer
    /// The statuses of a ``Problem`` that this request can get, beside those that every request can get.
    var problems: [Int] = []
    /// Answers with a status other than 200 that are not a ``Problem``, by status.
    var otherAnswers: [Int: Schema] = [:]
    /// Who may send it over TCP without the key.
    var access = Access.key
    let perform: @Sendable (ManagementAPI, ManagementCall) async throws -> Response

    struct Parameter: Sendable {
        enum Place: String, Sendable {
            case path
            case query
        }

        let place: Place
        let name: String
        let schema: Schema
        let meaning: String
    }

    struct Body: Sendable {
        let schema: Schema
        /// In bytes.
        var maximumBytes = ManagementLimits.bodyBytes
        /// Whether a request without a body counts as one with `{}`.
        var isOptional = false
    }

    enum Answer: Sendable {
        case json(Schema)
        /// A body that is not JSON, with its media types.
        case other([String])

        var mediaTypes: [String] {
            switch self {
            case .json: [JSONAnswer.mediaType]
            case .other(let types): types
            }
        }
    }

    enum Access: Sendable {
        /// Every client needs the key.
        case key
        /// Clients need no key if the listener's address is loopback.
        case loopback
        /// No client needs the key.
        case everybody
    }
}

extension ManagementOperation {
    /// All operations. docs/administration.md has the same list, and a test compares them.
    static let all: [ManagementOperation] =
        system + service + teams + apps + keys + certificates + devices + virtualDevices + administrators
        + channels + fixtures + journal + log + reasons + rehearsals + clock + reports + console

    /// The parameters of every list: the most items, and the name after which it begins.
    static func listParameters(after name: String, _ format: TextFormat = .any) -> [Parameter] {
        [
            Parameter(
                place: .query, name: "limit",
                schema: .integer(1...Int64(ManagementLimits.listItems)),
                meaning: "How many at most; \(ManagementLimits.listItems) if it is not given."),
            Parameter(
                place: .query, name: "after", schema: .string(format),
                meaning: "Only what comes after this \(name). The header Link names the next page, if there is one."),
        ]
    }

    static func path(_ name: String, _ format: TextFormat, _ meaning: String) -> Parameter {
        Parameter(place: .path, name: name, schema: .string(format), meaning: meaning)
    }
}
