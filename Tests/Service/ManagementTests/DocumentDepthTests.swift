import Testing

@testable import ServiceTesting

/// How bodies of the management API are read: the depth is bounded, and each key occurs once in an object.
@Suite(.timeLimit(.minutes(2))) struct DocumentDepthTests {
    private static func nested(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    @Test(arguments: ["/v1/teams", "/v1/fixtures", "/v1/requests/wait", "/v1/rehearsals", "/v1/notifications"])
    func `A body that is nested too deeply is refused before its schema is checked`(path: String) async throws {
        try await TestService.run { test in
            for body in [Self.nested(500), #"{"name":\#(Self.nested(100))}"#] {
                let answer = try await test.ask("POST", path, body: body)
                #expect(answer.status == 400)
                #expect((answer.problem?["detail"] as? String)?.contains("levels") == true, "\(answer.text)")
            }
        }
    }

    @Test func `A match may name the deepest payload that there is`() async throws {
        try await TestService.run { test in
            let rule = #"{"match":{"payload":{"a":\#(Self.nested(63))}},"fault":{"lose":true}}"#
            let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"rules":[\#(rule)]}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func `An object that has a key twice is refused`() async throws {
        try await TestService.run { test in
            let answer = try await test.ask("POST", "/v1/teams", body: #"{"name":"a","n\u0061me":"b"}"#)
            #expect(answer.status == 400, "\(answer.text)")
        }
    }
}
