import CommonTesting
import Foundation
import HTTPTypes
import Notifications
import Rehearsals
import Testing

@testable import HTTPAPI
@testable import Management
@testable import ServiceTesting

/// `/openapi.json` and docs/administration.md list the operations of the router.
struct OpenAPITests {
    private static var document: [String] {
        get throws {
            try Repository.text("docs/administration.md")
                .split(separator: "\n").map(String.init)
        }
    }

    @Test func `docs/administration.md has a row for each operation, in their order, and no other`() throws {
        let rows = try Self.document.compactMap { $0.firstMatch(of: /^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|/) }
        let expected = ManagementOperations.all.map { "\($0.method.rawValue) \($0.path)" }
        #expect(rows.map { String($0.1) } == expected)
    }

    @Test func `Every operation is described with its parameters, its body and its answers`() throws {
        guard case .object(let document) = ManagementOperations.description, case .object(let paths) = document["paths"]
        else {
            Issue.record("no paths")
            return
        }
        for operation in ManagementOperations.all {
            guard case .object(let path) = paths[operation.path],
                case .object(let description) = path[operation.method.rawValue.lowercased()],
                case .object(let responses) = description["responses"]
            else {
                Issue.record("\(operation.path) is missing")
                continue
            }
            #expect((description["requestBody"] != nil) == (operation.body != nil))
            guard case .object(let done) = responses["200"] else {
                Issue.record("\(operation.path) has no answer")
                continue
            }
            var headers: [String] = []
            if case .object(let described) = done["headers"] { headers = Array(described.keys) }
            #expect(Set(headers) == Set(operation.headers.keys))
            #expect(operation.headers.isEmpty != (operation.method == .get && operation.path.hasPrefix("/v1/devices")))
            for status in operation.problems { #expect(responses["\(status)"] != nil) }
            let named = operation.path.matches(of: /\{(\w+)\}/).map { String($0.1) }
            #expect(operation.parameters.filter { $0.place == .path }.map(\.name) == named)
        }
    }

    @Test func `The answer of a wait that times out is described by its own schema, not as a problem`() throws {
        let operation = try #require(ManagementOperations.all.first { $0.path == "/v1/requests/wait" })
        guard case .object(let document) = ManagementOperations.description,
            case .object(let paths) = document["paths"],
            case .object(let path) = paths[operation.path], case .object(let description) = path["post"],
            case .object(let responses) = description["responses"],
            case .object(let components) = document["components"],
            case .object(let schemas) = components["schemas"]
        else {
            Issue.record("The wait is not described.")
            return
        }
        guard case .object(let timedOut) = responses["408"] else {
            Issue.record("408 is not described.")
            return
        }
        let reference: JSONValue = ["$ref": "#/components/schemas/WaitedInVain"]
        #expect(timedOut["content"] == ["application/json": ["schema": reference]])
        #expect(schemas["WaitedInVain"] != nil && schemas["NearMiss"] != nil)
        let request: JSONValue = [
            "number": 1, "time": 2, "connection": "c1", "environment": "development", "protocol": "http2",
        ]
        let answer: JSONValue = [
            "matched": 1, "nearest": [["request": request, "differs": ["topic"]]], "failed": [[:]],
        ]
        try ManagementSchemas.waitedInVain.check(answer)
        #expect(throws: (any Error).self) { try ManagementSchemas.waitedInVain.check(["status": 408]) }
    }

    @Test func `The identifier of each operation is unique`() {
        guard case .object(let document) = ManagementOperations.description, case .object(let paths) = document["paths"]
        else {
            return #expect(Bool(false), "The description has no paths.")
        }
        var names: [JSONValue] = []
        for case .object(let path) in paths.values {
            for case .object(let operation) in path.values { names.append(operation["operationId"] ?? .null) }
        }
        #expect(Set(names).count == ManagementOperations.all.count)
    }

    @Test func `The journal's requests have the form that is described`() async throws {
        try await TestService.runInMemory { test in
            let client = try await test.connectProvider()
            for token in ["00", try await test.makeDeviceToken()] {
                _ = try await client.send(
                    ProviderHeaders(token, token: try test.providerToken()).fields, body: #"{"aps":{"alert":"x"}}"#)
            }
            let answer = try await test.ask("GET", "/v1/requests")
            let requests = try #require(JSONValue(any: Array(answer.body)))
            try Schema.array(ManagementSchemas.request, count: 2...2).check(requests)
        }
    }

    @Test func `The schema of a rehearsal takes what its reader takes`() throws {
        let faults: [JSONValue] = [
            ["answer": ["reason": "TooManyRequests", "retryAfter": 1]], ["delay": "PT1S"], ["hang": true],
            ["settings": ["maxConcurrentStreams": 1]], ["goAway": [:]], ["close": "rst"], ["reset": "REFUSED_STREAM"],
            ["tls": ["versions": ["1.2"]]], ["certificate": "expired"], ["handshake": "reset"], ["duplicate": 2],
        ]
        for fault in faults {
            let document: JSONValue = ["seed": 1, "ttl": "PT1M", "rules": [["when": ["first": 2], "fault": fault]]]
            #expect(throws: Never.self, "\(fault)") { try Rehearsal(document) }
            #expect(throws: Never.self, "\(fault)") { try ManagementSchemas.newRehearsal.check(document) }
        }
        #expect(throws: Problem.self) { try ManagementSchemas.newRehearsal.check(["rule": []]) }
        #expect(throws: Problem.self) { try ManagementSchemas.newRehearsal.check(["rules": [["fault": ["x": true]]]]) }
    }

    @Test func `A path has its own methods, although it also has the form of another`() {
        let methods = ManagementAPI.operations(at: "/v1/requests/wait").map(\.method)
        #expect(methods == [.post])
        for operation in ManagementOperations.all where !operation.path.contains("{") {
            let own = ManagementOperations.all.filter { $0.path == operation.path }.map(\.method)
            #expect(ManagementAPI.operations(at: operation.path).map(\.method) == own)
        }
    }

    @Test func `The app of channels is a required parameter`() throws {
        for operation in ManagementOperations.all {
            for parameter in operation.parameters where parameter.name == "bundleID" { #expect(parameter.isRequired) }
        }
    }
}
