import Delivery
import HTTPAPI
import HTTPTypes
import Notifications
import Testing
import Trust

@testable import Management

/// Which requests are allowed because of their headers.
struct AccessRulesTests {
    private static let key = "0123456789abcdef0123456789abcdef"
    private static let now = Timestamp(seconds: 1_800_000_000)

    private func status(
        _ headers: [HTTPField.Name: String] = [:],
        host: String = "127.0.0.1:2198",
        from caller: ManagementCaller = .network(isLoopback: true),
        access: ManagementAccess = .key,
        trust: AdministratorTrust = AdministratorTrust(),
        rules: AccessRules = AccessRules(host: "127.0.0.1", hostnames: ["push.example.com"], key: key),
    ) -> Int? {
        var request = HTTPRequest(method: .post, scheme: "http", authority: host, path: "/v1/teams")
        for (name, value) in headers { request.headerFields[name] = value }
        return rules.refusal(of: request, from: caller, access: access, trust: trust, now: Self.now)?.status
    }

    private static let authorized: [HTTPField.Name: String] = [.authorization: "Bearer \(key)"]

    @Test func `The key gives access, and its scheme may be in any case`() {
        #expect(status(Self.authorized) == nil)
        #expect(status([.authorization: "bearer \(Self.key)"]) == nil)
    }

    @Test func `More than one blank may come before the key, as before a provider token`() {
        #expect(status([.authorization: "Bearer   \(Self.key)"]) == nil)
    }

    @Test(arguments: [nil, "", "Bearer", "Bearer ", "Bearer   ", "Bearer \(key)0", "Basic \(key)", key])
    func `Any other authorization gives no access`(_ field: String?) {
        #expect(status(field.map { [.authorization: $0] } ?? [:]) == 401)
    }

    @Test func `Health needs no key, and metrics need none on a loopback address`() {
        #expect(status(access: .everybody) == nil)
        #expect(status(from: .network(isLoopback: false), access: .everybody) == nil)
        #expect(status(access: .loopback) == nil)
        #expect(status(from: .network(isLoopback: false), access: .loopback) == 401)
    }

    @Test func `The root certificate needs no key on a loopback address, and with the store in memory nowhere`() {
        #expect(status(access: .loopbackOrMemory) == nil)
        #expect(status(from: .network(isLoopback: false), access: .loopbackOrMemory) == 401)
        #expect(status(from: .certificate(nil), access: .loopbackOrMemory) == 403)
        let inMemory = AccessRules(
            host: "127.0.0.1", hostnames: ["push.example.com"], key: Self.key, isInMemory: true)
        #expect(status(from: .network(isLoopback: false), access: .loopbackOrMemory, rules: inMemory) == nil)
        #expect(status(from: .certificate(nil), access: .loopbackOrMemory, rules: inMemory) == nil)
        #expect(status(from: .network(isLoopback: false), access: .loopback, rules: inMemory) == 401)
        #expect(status(host: "evil.example", access: .loopbackOrMemory, rules: inMemory) == 403)
    }

    @Test func `The socket needs no key and no particular form of request`() {
        #expect(status([.contentType: "application/x-www-form-urlencoded"], host: "anything", from: .socket) == nil)
    }

    @Test(arguments: [
        "127.0.0.1:2198", "localhost:2198", "LOCALHOST", "[::1]:2198", "console.localhost:2198", "push.example.com",
    ])
    func `The service's own hosts are allowed`(_ host: String) {
        #expect(status(Self.authorized, host: host) == nil)
    }

    @Test(arguments: ["0.0.0.0", "::", "0::0", "0:0:0:0:0:0:0:0"])
    func `A listener on all addresses takes every address, and no other name`(_ listener: String) {
        let rules = AccessRules(host: listener, hostnames: [], key: Self.key)
        #expect(status(Self.authorized, host: "10.0.0.1:2198", rules: rules) == nil)
        #expect(status(Self.authorized, host: "[2001:db8::1]:2198", rules: rules) == nil)
        #expect(status(Self.authorized, host: "evil.example:2198", rules: rules) == 403)
    }

    @Test func `The authorities need no key on a loopback address, and with a store in memory nowhere`() {
        let (loopback, other) = (
            ManagementCaller.network(isLoopback: true), ManagementCaller.network(isLoopback: false)
        )
        #expect(status(from: loopback, access: .loopbackOrMemory) == nil)
        #expect(status(from: other, access: .loopbackOrMemory) == 401)
        #expect(status(from: .certificate(nil), access: .loopbackOrMemory) == 403)
        let rules = AccessRules(host: "127.0.0.1", hostnames: [], key: Self.key, isInMemory: true)
        #expect(status(from: other, access: .loopbackOrMemory, rules: rules) == nil)
        #expect(status(from: other, access: .key, rules: rules) == 401)
        #expect(status(host: "evil.example", from: other, access: .loopbackOrMemory, rules: rules) == 403)
    }

    @Test(arguments: [
        "evil.example", "evil.example:2198", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:2198", "",
        "[::1", "::1", "push.example.com.evil.example",
    ])
    func `A foreign host is refused, with the key and without`(_ host: String) {
        #expect(status(Self.authorized, host: host) == 403)
        #expect(status(host: host, access: .everybody) == 403)
    }

    @Test func `A listener on all addresses allows any address as host, and no foreign name`() {
        let rules = AccessRules(host: "0.0.0.0", hostnames: [], key: Self.key)
        #expect(status(Self.authorized, host: "10.0.0.1:2198", rules: rules) == nil)
        #expect(status(Self.authorized, host: "[fe80::1]:2198", rules: rules) == nil)
        #expect(status(Self.authorized, host: "evil.example", rules: rules) == 403)
    }

    @Test(arguments: ["http://evil.example", "null", "http://127.0.0.1:8080", "http://localhost:2198", "file://"])
    func `A page of another origin is refused`(_ origin: String) {
        #expect(status(Self.authorized.merging([.origin: origin]) { $1 }) == 403)
    }

    @Test func `A page of the service itself is allowed`() {
        #expect(status(Self.authorized.merging([.origin: "http://127.0.0.1:2198"]) { $1 }) == nil)
    }

    @Test(arguments: ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"])
    func `A request that a web form can send is refused`(_ type: String) {
        #expect(status(Self.authorized.merging([.contentType: type]) { $1 }) == 415)
    }

    @Test(arguments: ["application/json", "Application/JSON; charset=utf-8"])
    func `A JSON request is allowed`(_ type: String) {
        #expect(status(Self.authorized.merging([.contentType: type]) { $1 }) == nil)
    }

    @Test func `Over TLS an administrator's certificate gives access until it expires`() throws {
        let serial = try #require(CertificateSerial(String(repeating: "0", count: 31) + "1"))
        let end = Double(Self.now.seconds)
        let good = AdministratorIdentity(serial: serial, validUntil: end)
        let expired = AdministratorIdentity(serial: serial, validUntil: end - 1)
        #expect(status(from: .certificate(good)) == nil)
        #expect(status(from: .certificate(expired)) == 403)
        #expect(status(Self.authorized, from: .certificate(nil)) == 403)
        #expect(status(host: "evil.example", from: .certificate(good)) == 403)
    }

    @Test func `A revoked certificate gives no access, and one that is not listed does`() throws {
        let serials = try ["41", "42", "43"].map {
            try #require(CertificateSerial($0 + String(repeating: "0", count: 30)))
        }
        let accounts = AccountsSnapshot(
            version: 1,
            administrators: [
                AdministratorCertificate(serial: serials[0], made: Self.now, validUntil: Self.now),
                AdministratorCertificate(
                    serial: serials[1], made: Self.now, validUntil: Self.now, revoked: Self.now),
            ])
        let statuses = serials.map { serial in
            let identity = AdministratorIdentity(serial: serial, validUntil: Double(Self.now.seconds))
            return status(from: .certificate(identity), trust: AdministratorTrust(accounts))
        }
        #expect(statuses == [nil, 403, nil])
    }

    @Test func `A node that may have missed a revocation shows an administrator only its state and its metrics`() throws
    {
        let serial = try #require(CertificateSerial("41" + String(repeating: "0", count: 30)))
        let good = AdministratorIdentity(serial: serial, validUntil: Double(Self.now.seconds))
        let trust = AdministratorTrust(isCurrent: false)
        #expect(status(from: .certificate(good), trust: trust) == 503)
        #expect(status(from: .certificate(good), access: .loopback, trust: trust) == nil)
        #expect(status(from: .certificate(good), access: .everybody, trust: trust) == nil)
        // The socket's permissions and the key do not depend on the accounts.
        #expect(status(from: .socket, trust: trust) == nil)
        #expect(status(Self.authorized, trust: trust) == nil)
    }
}
