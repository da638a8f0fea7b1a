import AsyncHTTPClient
import Delivery
import DeliveryTesting
import Foundation
import Management
import NIOHTTP1
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Administrators' certificates: which are listed, and how they are revoked, over real TLS.
@Suite(.timeLimit(.minutes(2))) struct ManagementAdministratorTests {
    private typealias Messages = ManagementMessages

    private func list(_ test: TestService, _ query: String = "") async throws -> [Messages.Administrator] {
        try await test.administer("GET", "/v1/administrators" + query)
    }

    /// The status of a request over TLS; nil if the handshake was refused.
    private func status(_ test: TestService, _ certificate: ClientCertificate) async -> Int? {
        try? await test.ask("GET", "/v1/teams", as: certificate).status
    }

    /// Waits until new connections with the certificate are refused in the handshake. A request on a connection from
    /// before is answered 403, and its connection ends.
    private func awaitRefusal(_ test: TestService, of certificate: ClientCertificate) async {
        while let status = await status(test, certificate) { #expect(status == 403) }
        #expect(await status(test, certificate) == nil)
    }

    @Test func `An administrator is listed with the validity of the certificate, and over every way`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let (one, other) = (try await test.makeAdministrator(), try await test.makeAdministrator())
            let listed = try await list(test)
            #expect(listed.map(\.serial) == [one.serial, other.serial].sorted())
            let now = UInt64(Date().timeIntervalSince1970 * 1000)
            for administrator in listed {
                let made = try required(administrator.made)
                #expect((now - 60_000...now + 60_000).contains(made) && administrator.revoked == nil)
                // Certificates count in whole seconds.
                #expect(administrator.validUntil == (made + 30 * 86_400_000) / 1000 * 1000)
            }
            for path in ["/v1/administrators", "/v1/administrators/\(one.serial)"] {
                #expect(try await test.ask("GET", path).status == 200)
                #expect(try await test.ask("GET", path, as: other).status == 200)
            }
            let first = try await test.ask("GET", "/v1/administrators?limit=1")
            let next = try required(first.headers.first(name: "link"))
            #expect(next.contains("/v1/administrators?limit=1&after=\(listed[0].serial)"))
            #expect(try await list(test, "?after=\(listed[0].serial)").map(\.serial) == [listed[1].serial])
        }
    }

    @Test func `A revoked administrator is refused at once, in the handshake too, and others are not`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let (lost, kept) = (try await test.makeAdministrator(), try await test.makeAdministrator())
            for administrator in [lost, kept] { #expect(await status(test, administrator) == 200) }
            let revoked = try await test.ask("DELETE", "/v1/administrators/\(lost.serial)", as: kept)
            #expect(revoked.status == 200 && revoked.text == #"{"serial":"\#(lost.serial)"}"#)
            await awaitRefusal(test, of: lost)
            #expect(await status(test, kept) == 200)
            let listed: Messages.Administrator = try await test.administer(
                "GET", "/v1/administrators/\(lost.serial)")
            #expect(listed.revoked != nil)
            // Revoking it again changes nothing.
            #expect(try await test.ask("DELETE", "/v1/administrators/\(lost.serial)").status == 200)
            let again: Messages.Administrator = try await test.administer("GET", "/v1/administrators/\(lost.serial)")
            #expect(again.revoked == listed.revoked)
        }
    }

    /// Connects over TLS, for requests on one connection.
    private func connect(_ test: TestService, _ certificate: ClientCertificate) async throws -> ByteClient {
        let address = try required(test.description.managementTLS)
        let port = try required(address.split(separator: ":").last.flatMap { Int($0) })
        return try await ByteClient.connect(port: port, authorityFile: test.description.ca, certificate: certificate)
    }

    @Test func `On a connection from before the next request is refused, and the connection ends`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            let client = try await connect(test, administrator)
            let request = Array("GET /v1/teams HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            try await client.write(request)
            #expect(await client.read(12) == Array("HTTP/1.1 200".utf8))
            #expect(try await test.ask("DELETE", "/v1/administrators/\(administrator.serial)").status == 200)
            // On a slow machine, the connection may have ended before.
            try? await client.write(request)
            let rest = String(decoding: await client.readToEnd(), as: UTF8.self)
            #expect(!rest.contains("HTTP/1.1 200"), "\(rest)")
        }
    }

    @Test func `A request whose body arrives after the revocation changes nothing`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            let client = try await connect(test, administrator)
            let body = #"{"name":"Shop"}"#
            let head = [
                "POST /v1/teams HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                "Content-Length: \(body.utf8.count)", "Expect: 100-continue", "", "",
            ]
            try await client.write(Array(head.joined(separator: "\r\n").utf8))
            #expect(await client.read(12) == Array("HTTP/1.1 100".utf8))
            #expect(try await test.ask("DELETE", "/v1/administrators/\(administrator.serial)").status == 200)
            // On a slow machine, the connection may have ended before.
            try? await client.write(Array(body.utf8))
            _ = await client.readToEnd()
            let teams: [Messages.Team] = try await test.administer("GET", "/v1/teams")
            #expect(teams.map(\.name) == ["Development"])
        }
    }

    @Test func `A stream that a revoked administrator reads ends`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            let stream = try await test.open("GET", "/v1/log?follow=true", as: administrator)
            #expect(stream.status == .ok)
            #expect(try await test.ask("DELETE", "/v1/administrators/\(administrator.serial)").status == 200)
            do {
                for try await _ in stream.body {}
            } catch {
                // The end of the connection is an error for the client.
            }
            #expect(await status(test, administrator) != 200)
        }
    }

    @Test func `An administrator can revoke its own certificate, and gets the answer`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            let path = "/v1/administrators/\(administrator.serial)"
            #expect(try await test.ask("DELETE", path, as: administrator).status == 200)
            await awaitRefusal(test, of: administrator)
        }
    }

    @Test func `A revocation survives a restart`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        func settings(_ settings: inout Settings) {
            TestService.withManagementTLS(&settings)
            settings.dataFolder = folder.path
        }
        var administrators: [ClientCertificate] = []
        try await TestService.run(settings) { test in
            administrators = [try await test.makeAdministrator(), try await test.makeAdministrator()]
            #expect(try await test.ask("DELETE", "/v1/administrators/\(administrators[0].serial)").status == 200)
        }
        try await TestService.run(settings) { test in
            #expect(await status(test, administrators[0]) == nil)
            #expect(await status(test, administrators[1]) == 200)
        }
    }

    // MARK: Certificates that are not listed

    @Test func `A certificate that is not listed is valid until it is revoked on request, over the socket only`()
        async throws
    {
        try await TestService.run(TestService.withManagementTLS) { test in
            let (other, unlisted) = (try await test.makeAdministrator(), try await test.issueAdministrator())
            #expect(await status(test, unlisted) == 200)
            #expect(try await list(test).map(\.serial) == [other.serial])
            let path = "/v1/administrators/\(unlisted.serial)"
            for path in [path, path + "?unlisted=false"] {
                #expect(try await test.manage("DELETE", path).status == 404)
            }
            #expect(try await test.ask("DELETE", path + "?unlisted=true").status == 403)
            #expect(try await test.ask("DELETE", path + "?unlisted=true", as: other).status == 403)
            #expect(await status(test, unlisted) == 200)
            #expect(try await test.manage("DELETE", path + "?unlisted=true").status == 200)
            await awaitRefusal(test, of: unlisted)
            let listed: Messages.Administrator = try await test.administer("GET", path)
            #expect(listed.made == nil && listed.revoked != nil)
        }
    }

    @Test func `What is no serial number of an administrator is refused, and stored nowhere`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let provider = try await test.makeCertificate()
            let cases: [(String, Int)] = [
                ("none", 400), (String(repeating: "4", count: 31), 400), (String(repeating: "4", count: 33), 400),
                (String(repeating: "0", count: 32), 404), (String(repeating: "f", count: 32), 404),
                (provider.serial, 404), ("%00", 400), ("..%2fteams", 400),
            ]
            for (serial, status) in cases {
                let answer = try await test.manage("DELETE", "/v1/administrators/\(serial)?unlisted=true")
                #expect(answer.status == status, "\(serial): \(String(decoding: answer.body, as: UTF8.self))")
            }
            #expect(try await list(test).isEmpty)
            for query in ["unlisted=1", "unlisted=TRUE", "unlisted=", "other=true"] {
                let path = "/v1/administrators/\(String(repeating: "4", count: 32))?\(query)"
                #expect(try await test.manage("DELETE", path).status == 400, "\(query)")
            }
        }
    }

    // MARK: A node that is cut off

    @Test func `A node that may have missed a revocation refuses administrators, and shows them its metrics`()
        async throws
    {
        let isCurrent = Box(true)
        try await TestService.runWrapping({ CutOffStore(inner: $0, isCurrent) }, TestService.withManagementTLS) {
            test in
            let administrator = try await test.makeAdministrator()
            #expect(await status(test, administrator) == 200)
            isCurrent.set(false)
            let refused = try await test.ask("GET", "/v1/teams", as: administrator)
            #expect(refused.status == 503, "\(refused.text)")
            for path in ["/metrics", "/health"] {
                #expect(try await test.ask("GET", path, as: administrator).status == 200, "\(path)")
            }
            #expect(try await test.manage("GET", "/v1/teams").status == 200)
            isCurrent.set(true)
            #expect(await status(test, administrator) == 200)
        }
    }
}

/// A value that a test changes.
private final class Box: Sendable {
    private let value: Mutex<Bool>
    init(_ value: Bool) { self.value = Mutex(value) }
    func set(_ new: Bool) { value.withLock { $0 = new } }
    var get: Bool { value.withLock { $0 } }
}

/// A store that may not have heard of all changes of the accounts.
private final class CutOffStore: ForwardingStore {
    let inner: any Store
    private let current: Box

    init(inner: any Store, _ current: Box) {
        self.inner = inner
        self.current = current
    }

    var isCurrent: Bool { current.get }
}
