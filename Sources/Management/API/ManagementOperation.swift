import HTTPTypes
import Hummingbird

/// One request that the API takes. The router, `/openapi.json` and the check of bodies all go by this value.
struct ManagementOperation: Sendable {
    let method: HTTPRequest.Method
    /// With parameters in braces: `/v1/teams/{teamID}`.
    let path: String
    /// What it does, in a few words.
    let summary: String
    /// The parameters in the path, in its order, and those of the query.
    var parameters: [Parameter] = []
    /// The JSON that it takes; nil if it takes none.
    var body: Body?
    let answer: Answer
    /// The statuses of ``Problem`` that it may answer with beside those that every request may get.
    var problems: [Int] = []
    /// The answers with another status than 200 that are no ``Problem``, by their status.
    var otherAnswers: [Int: Schema] = [:]
    /// Who may ask without the key, over TCP.
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
        /// Something else than JSON, by its media types.
        case other([String])

        var mediaTypes: [String] {
            switch self {
            case .json: [JSONAnswer.mediaType]
            case .other(let types): types
            }
        }
    }

    enum Access: Sendable {
        /// Everybody needs the key.
        case key
        /// Whoever reaches a loopback address needs none.
        case loopback
        /// Nobody needs the key.
        case everybody
    }
}

extension ManagementOperation {
    /// Every operation. docs/administration.md has the same list, which a test compares.
    static let all: [ManagementOperation] =
        system + service + teams + apps + keys + certificates + devices + virtualDevices + administrators
        + fixtures + journal + log + reasons + rehearsals + clock + reports + console

    /// The parameters of every list: how many at most, and the name after which it goes on.
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
