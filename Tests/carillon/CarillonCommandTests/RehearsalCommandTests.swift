import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The commands for rehearsals and the clock, with curl as the provider.
@Suite(.timeLimit(.minutes(2))) struct RehearsalCommandTests {
    private static func write(_ document: String, in folder: String) throws -> String {
        let path = folder + "/rehearsal.json"
        try Data(document.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Sends a push with curl, and returns its output and exit status.
    private static func curl(
        _ service: CarillonProcess,
        to token: String,
    ) async throws -> ChildProcess.Finished {
        let provider = try service.developmentProvider
        let address = try service.addresses(.development).provider
        return try await ChildProcess.run(
            "curl",
            Curl.arguments(ca: service.ready.ca) + [
                "-H", "authorization: bearer \(try provider.token())", "-H", "apns-topic: com.example.app",
                "--data-binary", #"{"aps":{"alert":"Hello"}}"#, "-o", "/dev/null", "-w", "%{http_code}",
                "https://\(address)/3/device/\(token)",
            ])
    }

    @Test func `Curl sees what is rehearsed`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let token = try await service.register("com.example.app", on: try await service.activate())
                // The exit status is CURLE_HTTP2_STREAM, CURLE_GOT_NOTHING or one for a broken connection.
                for (fault, status, output) in [
                    (#"{"answer":{"reason":"TooManyRequests"}}"#, 0 as Int32, "429"),
                    (#"{"reset":"INTERNAL_ERROR"}"#, 92, "000"),
                    (#"{"goAway":{}}"#, 0, "200"), (#"{"delay":"PT0.1S"}"#, 0, "200"), (#"{"lose":true}"#, 0, "200"),
                ] {
                    let path = try Self.write(#"{"rules":[{"name":"one","fault":\#(fault)}]}"#, in: folder)
                    let begun = try await service.carillon("rehearse", path)
                    #expect(begun.status == 0, "\(begun.errors)")
                    #expect(begun.output.hasPrefix(#"{"rehearsal":"r"#))
                    let pushed = try await Self.curl(service, to: token)
                    #expect(pushed.status == status, "\(fault) \(pushed.errors)")
                    #expect(pushed.output == output, "\(fault)")
                    let ended = try await service.carillon("rehearse", "end")
                    #expect(ended.output.contains(#""fired":1"#))
                    #expect(ended.output.contains(#""rule":"one""#))
                }
                for fault in [#"{"close":"rst"}"#, #"{"close":"fin"}"#, #"{"refuse":true}"#] {
                    let path = try Self.write(#"{"rules":[{"fault":\#(fault)}]}"#, in: folder)
                    #expect(try await service.carillon("rehearse", "start", path).status == 0)
                    let pushed = try await Self.curl(service, to: token)
                    #expect(pushed.status != 0)
                    #expect(pushed.output == "000")
                    #expect(try await service.carillon("rehearse", "end").status == 0)
                }
            }
        }
    }

    @Test func `A trouble needs no document`() async throws {
        try await CarillonProcess.with { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            for (options, status, output) in [
                (["--reason", "TooManyRequests", "--first", "1"], 0 as Int32, "429"),
                (["--reason", "ServiceUnavailable", "--share", "1"], 0, "503"), (["--goaway-every", "1"], 0, "200"),
                (["--slow", "PT0.1S", "--ttl", "PT1M"], 0, "200"),
                (["--slow", "PT0.1S", "--goaway-every", "100"], 0, "200"),
            ] {
                let begun = try await service.carillon(["rehearse"] + options)
                #expect(begun.status == 0, "\(begun.errors)")
                let pushed = try await Self.curl(service, to: token)
                #expect(pushed.status == status && pushed.output == output, "\(options) \(pushed.errors)")
                #expect(try await service.carillon("rehearse", "end").output.contains(#""fired":1"#), "\(options)")
            }
            #expect(try await service.carillon("rehearse", "--reset", "--team", "NOBODY0001").status == 0)
            #expect(try await Self.curl(service, to: token).output == "200")
            #expect(try await service.carillon("rehearse", "--reset").status == 0)
            #expect(try await Self.curl(service, to: token).output == "000")
        }
    }

    @Test(arguments: [
        ([], "Name a trouble"), (["--share", "0.1"], "Name the trouble too"),
        (["--reason", "Busy"], "There is no reason Busy"),
        (["--slow", "2"], "--slow is 2; it takes a duration"),
        (["--slow", "PT25H"], "--slow is PT25H; it takes a duration"),
        (["--hang", "--ttl", "PT25H"], "--ttl is PT25H; it takes a duration"),
        (["--hang", "--ttl", "PT0S"], "--ttl is PT0S; it takes a duration"),
        (["--hang", "--reset"], "Name one of"),
        (["--hang", "--share", "2"], "up to 1"),
        (["--hang", "rehearsal.json"], "not both"), (["--goaway-every", "0"], "takes 1 or more"),
        (["--goaway-every", "10", "--share", "0.1"], "--share and --first are for"),
    ])
    func `A trouble that cannot be is refused`(_ options: [String], _ error: String) async throws {
        let refused = try await BuiltCommand.run(["rehearse"] + options)
        #expect(refused.status == 64)
        #expect(refused.errors.contains(error), "\(refused.errors)")
    }

    @Test func `Status fails if a rule has never fired`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let token = try await service.register("com.example.app", on: try await service.activate())
                #expect(try await service.carillon("rehearse", "status", "--require-fired").status == 1)
                let path = try Self.write(
                    #"{"rules":[{"name":"busy","fault":{"answer":{"reason":"ServiceUnavailable"}}}]}"#, in: folder)
                #expect(try await service.carillon("rehearse", path).status == 0)
                let before = try await service.carillon("rehearse", "status", "--require-fired")
                #expect(before.status == 1)
                #expect(before.errors.contains("busy"))
                #expect(try await Self.curl(service, to: token).output == "503")
                let after = try await service.carillon("rehearse", "status", "--require-fired")
                #expect(after.status == 0, "\(after.errors)")
                #expect(after.output.contains(#"{"fired":1,"matched":1,"rehearsal":"r1","rule":"busy"}"#))
            }
        }
    }

    @Test func `A bad document is refused`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let refused = try await service.carillon(
                    "rehearse", try Self.write(#"{"rules":[{"fault":{"close":"now"}}]}"#, in: folder))
                #expect(refused.status == 1)
                #expect(refused.errors.contains("fin, rst"))
                #expect(refused.errors.contains(#"rehearsal.json is wrong at "/rules/0/fault/close""#))
                let unreadable = try await service.carillon("rehearse", try Self.write("{", in: folder))
                #expect(unreadable.status == 1)
                #expect(unreadable.errors.contains("JSON"))
            }
        }
    }

    @Test func `The clock is shown and advanced`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_CLOCK": "virtual"]) { service in
            let before = try await service.carillon("clock")
            #expect(before.output.hasPrefix(#"{"now":"20"#))
            let after = try await service.carillon("clock", "advance", "P365D")
            #expect(after.status == 0, "\(after.errors)")
            func year(_ text: String) throws -> Int {
                try #require(text.firstMatch(of: /"now":"(\d{4})/).flatMap { Int($0.1) })
            }
            #expect(try year(after.output) > year(before.output))
            #expect(try await service.carillon("clock", "advance", "yesterday").status == 1)
        }
    }

    @Test func `The systems clock is not advanced`() async throws {
        try await CarillonProcess.with { service in
            let refused = try await service.carillon("clock", "advance", "PT1H")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("--clock virtual"))
        }
    }
}
