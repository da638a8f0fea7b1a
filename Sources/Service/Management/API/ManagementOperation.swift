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
    /// Header fields that an answer with status 200 may have, each with its meaning.
    var headers: [String: String] = [:]
    /// The error statuses of this request, beside those that every request can get. Their bodies are a ``Problem``.
    var problems: [Int] = []
    /// The answers whose status is not 200 and whose body is not a ``Problem``, by status.
    var otherAnswers: [Int: Schema] = [:]
    /// Which clients may send the request over TCP without the key.
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
        /// The largest allowed body, in bytes.
        var maximumBytes = ManagementLimits.bodyBytes
        /// Whether a request may leave out the body. It is then read as `{}`.
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
        /// Every client must send the key.
        case key
        /// Clients need no key if the listener's address is a loopback address.
        case loopback
        /// No client needs the key.
        case everybody
    }
}

extension ManagementOperation {
    /// All operations. docs/administration.md has the same list, and a test compares them.
    static let all: [ManagementOperation] =
        system + service + teams + apps + keys + certificates + devices + invitations + virtualDevices
        + administrators + channels + broadcasts + fixtures + journal + log + reasons + rehearsals + clock + reports
        + nodes + console

    /// The parameters of every list: the maximum number of items, and the name after which the page begins.
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
