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
                #expect((answer.problem?["pointer"] as? String)?.hasSuffix("/0/0/0/0") == true, "\(answer.text)")
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

    @Test func `Each fault of JSON has a sentence of its own, and its place`() async throws {
        try await TestService.run { test in
            for (body, detail, pointer) in [
                (#"{"name":"a","n\u0061me":"b"}"#, #"The body has a key twice in one object: "name"."#, "/name"),
                (#"{"rules":[{"a":{"é":1,"\u00e9":2}}]}"#, "The body has a key twice in one object:", "/rules/0/a/é"),
                (#"{"name":"a",}"#, "The body is not JSON (RFC 8259): byte 12 does not belong there.", ""),
                ("{\n\"name\":01}", "The body is not JSON (RFC 8259): byte 10 in line 2 does not belong there.", ""),
            ] {
                let answer = try await test.ask("POST", "/v1/teams", body: body)
                #expect(answer.status == 400, "\(answer.text)")
                #expect((answer.problem?["detail"] as? String)?.hasPrefix(detail) == true, "\(answer.text)")
                #expect(answer.problem?["pointer"] as? String == pointer, "\(answer.text)")
            }
        }
    }

    @Test func `Keys that differ only in Unicode's normalization are two, and a byte order mark is ignored`()
        async throws
    {
        try await TestService.run { test in
            let payload = "{\"\u{e9}\":1,\"e\u{301}\":2}"
            let body = "\u{feff}" + #"{"rules":[{"match":{"payload":\#(payload)},"fault":{"lose":true}}]}"#
            let answer = try await test.ask("POST", "/v1/rehearsals", body: body)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }
}
