import Foundation
import Management
import NIOCore
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// The report on the use of connections, over the wire. Each faulty client makes one fault on purpose, and a second
/// client behaves well.
@Suite("The report on connections", .timeLimit(.minutes(2))) struct ReportPracticeTests {
    private static func run(
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService, ProviderHeaders) async throws -> Void,
    ) async throws {
        try await TestService.run {
            $0.store = .memory
            change(&$0)
        } _: { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
                .with("apns-push-type", "alert")
            try await body(test, headers)
        }
    }

    private static func findings(
        _ test: TestService,
        _ query: String = "",
    ) async throws -> [ManagementMessages.Finding] {
        let report: ManagementMessages.Report = try await test.administer("GET", "/v1/reports" + query)
        return report.findings
    }

    /// Sends three different notifications, one after the other.
    private static func send(
        _ headers: ProviderHeaders,
        by client: HandmadeClient,
        form: HandmadeClient.Form = .withoutIndexing,
        before: (Int) async throws -> Void = { _ in },
    ) async throws {
        for number in 1...3 {
            try await before(number)
            let isAccepted = try await client.send(
                headers.fields, form: form, body: #"{"aps":{"alert":"Number \#(number)"}}"#)
            #expect(isAccepted)
        }
    }

    @Test(arguments: [HandmadeClient.Form.incremental, .withoutIndexing])
    func `Paths and provider tokens fill the table of headers`(_ form: HandmadeClient.Form) async throws {
        try await Self.run { test, headers in
            let client = try await HandmadeClient(test)
            try await Self.send(headers, by: client, form: form)
            let found = try await Self.findings(test)
            #expect(found.map(\.id) == (form == .incremental ? ["hpack-table-filled"] : []))
            #expect(found.first?.requests == (form == .incremental ? [1, 2, 3] : nil))
            await client.close()
        }
    }

    @Test(arguments: [true, false]) func `PRIORITY frames are sent`(_ misbehaves: Bool) async throws {
        try await Self.run { test, headers in
            let client = try await HandmadeClient(test)
            try await Self.send(headers, by: client) { number in
                if misbehaves, number == 2 { try await client.sendPriority(of: 9) }
            }
            let found = try await Self.findings(test)
            #expect(found.map(\.id) == (misbehaves ? ["priority-frames"] : []))
            #expect(found.first?.requests == (misbehaves ? [2] : nil))
            await client.close()
        }
    }

    @Test(arguments: [(0, true), (1023, true), (1024, false), (65_535, false)] as [(UInt32, Bool)])
    func `A window has no room for an answer`(_ bytes: UInt32, _ misbehaves: Bool) async throws {
        try await Self.run { test, headers in
            let client = try await HandmadeClient(test, settings: [(4, bytes)])
            try await Self.send(headers, by: client)
            let found = try await Self.findings(test)
            #expect(found.map(\.id) == (misbehaves ? ["windows-misused"] : []))
            #expect(found.first?.severity == (misbehaves ? "warning" : nil))
            #expect(found.first?.requests == (misbehaves ? [1] : nil))
            await client.close()
        }
    }

    @Test(arguments: [(40, true), (4, false)])
    func `A window is opened one byte at a time`(_ count: Int, _ misbehaves: Bool) async throws {
        try await Self.run { test, headers in
            let client = try await HandmadeClient(test)
            try await Self.send(headers, by: client) { _ in try await client.sendWindowUpdates(count) }
            let found = try await Self.findings(test)
            #expect(found.map(\.id) == (misbehaves ? ["windows-misused"] : []))
            #expect(found.first?.severity == (misbehaves ? "note" : nil))
            await client.close()
        }
    }

    @Test(arguments: [true, false])
    func `An idle connection is used again without PING`(_ misbehaves: Bool) async throws {
        try await Self.run {
            $0.provider.uncheckedSilence = .zero
        } _: { test, headers in
            let client = try await HandmadeClient(test)
            try await Self.send(headers, by: client) { _ in if !misbehaves { try await client.ping() } }
            let found = try await Self.findings(test)
            #expect(found.map(\.id) == (misbehaves ? ["idle-without-ping"] : []))
            #expect(found.first?.requests == (misbehaves ? [2, 3] : nil))
            await client.close()
        }
    }

    @Test func `By default a client that never sends PING is found before its connection ends`() {
        let limits = ProviderLimits()
        // The clock of connections has whole seconds, and a busy machine is late.
        #expect(limits.uncheckedSilence + .minutes(1) < limits.idleTimeout)
    }

    @Test func `Within an hour a connection may be used again without PING`() async throws {
        try await Self.run { test, headers in
            let client = try await HandmadeClient(test)
            try await Self.send(headers, by: client)
            #expect(try await Self.findings(test) == [])
            await client.close()
        }
    }

    @Test func `Connections are opened and never used`() async throws {
        try await Self.run { test, headers in
            for _ in 0..<3 { try await HandmadeClient(test).close() }
            // The service notices their end a little later.
            var found = try await Self.findings(test)
            while found.isEmpty { found = try await Self.findings(test) }
            #expect(found.map(\.id) == ["connections-unused"])
            #expect(found.first?.text == "3 connections ended without a request.")
            // These connections had no certificate, so they belong to no team.
            let team = try required(test.description.key).teamID
            #expect(try await Self.findings(test, "?team=\(team)") == [])
            #expect(try await test.ask("DELETE", "/v1/requests?team=\(team)").status == 200)
            #expect(try await Self.findings(test) == found)
            #expect(try await test.ask("DELETE", "/v1/requests").status == 200)
            #expect(try await Self.findings(test) == [])
        }
    }

    @Test func `Unused connections of the binary API count for their certificate's team`() async throws {
        try await Self.run { test, _ in
            let certificate = try await test.makeCertificate("development")
            for _ in 0..<3 {
                let client = try await ByteClient.connect(
                    port: test.port(\.binary), authorityFile: test.description.ca, certificate: certificate)
                await client.close()
            }
            let team = try required(test.description.key).teamID
            var found = try await Self.findings(test, "?team=\(team)")
            while found.isEmpty { found = try await Self.findings(test, "?team=\(team)") }
            #expect(found.map(\.id) == ["connections-unused"])
            #expect(try await Self.findings(test, "?team=ZZZZZZZZZZ") == [])
        }
    }
}
