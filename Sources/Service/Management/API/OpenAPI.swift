import HTTPTypes
import Notifications

/// The description of the API in OpenAPI 3.1, made from the operations.
enum OpenAPI {
    static let document: JSONValue = [
        "openapi": "3.1.0",
        "info": [
            "title": "Carillon management API",
            "version": "1",
            "description": "Accounts, health, metrics and the delivery log of a Carillon service.",
        ],
        "security": [["key": []]],
        "paths": .object(paths),
        "components": [
            "securitySchemes": [
                "key": [
                    "type": "http", "scheme": "bearer",
                    "description":
                        "The key in management.key. The Unix socket and administrators' certificates need none.",
                ]
            ],
            "schemas": .object(schemas.mapValues(\.definition)),
        ],
    ]

    private static var paths: [String: JSONValue] {
        var paths: [String: [String: JSONValue]] = [:]
        for operation in ManagementOperation.all {
            paths[operation.path, default: [:]][operation.method.rawValue.lowercased()] = description(of: operation)
        }
        return paths.mapValues(JSONValue.object)
    }

    private static var schemas: [String: Schema] {
        var all = Problem.schema.references
        for operation in ManagementOperation.all {
            if let body = operation.body { all.merge(body.schema.references, uniquingKeysWith: { $1 }) }
            if case .json(let schema) = operation.answer {
                all.merge(schema.references, uniquingKeysWith: { $1 })
            }
            for schema in operation.otherAnswers.values { all.merge(schema.references, uniquingKeysWith: { $1 }) }
        }
        return all
    }

    private static func description(of operation: ManagementOperation) -> JSONValue {
        var parts: [String: JSONValue] = [
            "summary": .string(operation.summary),
            "operationId": .string(identifier(of: operation)),
            "responses": .object(responses(of: operation)),
        ]
        if !operation.parameters.isEmpty {
            parts["parameters"] = .array(
                operation.parameters.map { parameter in
                    [
                        "in": .string(parameter.place.rawValue),
                        "name": .string(parameter.name),
                        "required": .bool(parameter.place == .path),
                        "description": .string(parameter.meaning),
                        "schema": parameter.schema.description,
                    ]
                })
        }
        if let body = operation.body {
            parts["requestBody"] = [
                "required": .bool(!body.isOptional),
                "content": .object([JSONAnswer.mediaType: ["schema": body.schema.description]]),
            ]
        }
        if operation.access != .key { parts["security"] = [] }
        return .object(parts)
    }

    private static func responses(of operation: ManagementOperation) -> [String: JSONValue] {
        var content: [String: JSONValue] = [:]
        for type in operation.answer.mediaTypes {
            content[type] =
                if case .json(let schema) = operation.answer { ["schema": schema.description] } else { [:] }
        }
        var done: [String: JSONValue] = ["description": .string("Done."), "content": .object(content)]
        if !operation.headers.isEmpty {
            done["headers"] = .object(
                operation.headers.mapValues { ["description": .string($0), "schema": ["type": "string"]] })
        }
        var responses: [String: JSONValue] = ["200": .object(done)]
        for status in Set(operation.problems + alwaysPossible) {
            responses["\(status)"] = [
                "description": .string(meaning(of: status)),
                "content": .object([Problem.mediaType: ["schema": Problem.schema.description]]),
            ]
        }
        for (status, schema) in operation.otherAnswers {
            responses["\(status)"] = [
                "description": .string(meaning(of: status)),
                "content": .object([JSONAnswer.mediaType: ["schema": schema.description]]),
            ]
        }
        return responses
    }

    /// The statuses that any request can get: it is malformed, the key is missing, the host is not allowed, it arrives
    /// too slowly, or its headers are too large.
    private static let alwaysPossible = [400, 401, 403, 503]

    private static func meaning(of status: Int) -> String {
        switch status {
        case 400: "The request cannot be read, or a value in it is not allowed."
        case 401: "The key is missing or wrong."
        case 403: "The host, the origin or the certificate may not do this."
        case 408: "The time was over before enough requests matched."
        case 404: "There is no such path, or no such item."
        case 409: "It exists already, or something that it needs does not."
        case 413: "The body is too large."
        case 415: "The body is not JSON."
        case 503: "The service is not ready, or its store cannot make the change now."
        default: "The request fails."
        }
    }

    /// The operation's identifier: `getTeamsByTeamID` for `GET /v1/teams/{teamID}`.
    private static func identifier(of operation: ManagementOperation) -> String {
        let words = operation.path.split(whereSeparator: { "/-.".contains($0) }).filter { $0 != "v1" }
        return words.reduce(operation.method.rawValue.lowercased()) { name, word in
            word.hasPrefix("{") ? name + "By" + capitalized(word.dropFirst().dropLast()) : name + capitalized(word)
        }
    }

    private static func capitalized(_ word: some StringProtocol) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }
}
