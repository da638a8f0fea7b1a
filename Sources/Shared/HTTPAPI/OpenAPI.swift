import HTTPTypes
package import Notifications

/// The description of an API in OpenAPI 3.1, made from its operations.
package struct OpenAPI<Server: APIServer>: Sendable {
    private let operations: [APIOperation<Server>]

    /// - Parameter key: what the key is.
    package static func document(title: String, description: String, key: String) -> JSONValue {
        let api = OpenAPI(operations: Server.operations)
        return [
            "openapi": "3.1.0",
            "info": ["title": .string(title), "version": "1", "description": .string(description)],
            "security": [["key": []]],
            "paths": .object(api.paths),
            "components": [
                "securitySchemes": ["key": ["type": "http", "scheme": "bearer", "description": .string(key)]],
                "schemas": .object(api.schemas.mapValues(\.definition)),
            ],
        ]
    }

    private var paths: [String: JSONValue] {
        var paths: [String: [String: JSONValue]] = [:]
        for operation in operations {
            paths[operation.path, default: [:]][operation.method.rawValue.lowercased()] = description(of: operation)
        }
        return paths.mapValues(JSONValue.object)
    }

    private var schemas: [String: Schema] {
        let all = operations.flatMap { operation in
            [operation.body?.schema].compactMap(\.self) + operation.answer.content.compactMap(\.schema)
                + operation.otherAnswers.values
        }
        return all.reduce(into: Problem.schema.references) { $0.merge($1.references, uniquingKeysWith: { $1 }) }
    }

    private func description(of operation: APIOperation<Server>) -> JSONValue {
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
                        "required": .bool(parameter.isRequired),
                        "description": .string(parameter.meaning),
                        "schema": parameter.schema.description,
                    ]
                })
        }
        if let body = operation.body {
            parts["requestBody"] = [
                "required": .bool(!body.isOptional), "content": content(body.mediaTypes.map { ($0, body.schema) }),
            ]
        }
        if !operation.access.needsKey { parts["security"] = [] }
        return .object(parts)
    }

    private func content(_ types: [(mediaType: String, schema: Schema?)]) -> JSONValue {
        let pairs = types.map { type, schema in (type, schema.map { ["schema": $0.description] } ?? [:] as JSONValue) }
        return .object(Dictionary(pairs, uniquingKeysWith: { $1 }))
    }

    private func responses(of operation: APIOperation<Server>) -> [String: JSONValue] {
        var done: [String: JSONValue] = ["description": .string("Done.")]
        if !operation.answer.content.isEmpty { done["content"] = content(operation.answer.content) }
        if !operation.headers.isEmpty {
            done["headers"] = .object(
                operation.headers.mapValues { ["description": .string($0), "schema": ["type": "string"]] })
        }
        var responses: [String: JSONValue] = ["\(operation.answer.status)": .object(done)]
        for status in Set(operation.problems + alwaysPossible) {
            responses["\(status)"] = [
                "description": .string(meaning(of: status)),
                "content": content([(Problem.mediaType, Problem.schema)]),
            ]
        }
        for (status, schema) in operation.otherAnswers {
            responses["\(status)"] = [
                "description": .string(meaning(of: status)), "content": content([(MediaType.json, schema)]),
            ]
        }
        return responses
    }

    /// The statuses that any request can get: it is malformed, the key is missing, the host is not allowed, or the store
    /// cannot be reached.
    private var alwaysPossible: [Int] { [400, 401, 403, 503] }

    private func meaning(of status: Int) -> String {
        switch status {
        case 200, 201, 202: "Done."
        case 400: "The request cannot be read, or a value in it is not allowed."
        case 401: "The key is missing or wrong."
        case 403: "The host, the origin or the certificate may not do this."
        case 408: "The time was over before enough requests matched."
        case 404: "There is no such path, or no such item."
        case 409: "It exists already, or something that it needs does not."
        case 412: "It has changed since the client read it."
        case 413: "The body is too large."
        case 415: "The body is not JSON."
        case 429: "There were too many requests of this kind."
        case 503: "The service is not ready, or its store cannot make the change now."
        default: "The request fails."
        }
    }

    /// The operation's identifier: `getTeamsByTeamID` for `GET /v1/teams/{teamID}`.
    private func identifier(of operation: APIOperation<Server>) -> String {
        let words = operation.path.split(whereSeparator: { "/-.".contains($0) }).filter { $0 != "v1" }
        return words.reduce(operation.method.rawValue.lowercased()) { name, word in
            word.hasPrefix("{") ? name + "By" + capitalized(word.dropFirst().dropLast()) : name + capitalized(word)
        }
    }

    private func capitalized(_ word: some StringProtocol) -> String { word.prefix(1).uppercased() + word.dropFirst() }
}
