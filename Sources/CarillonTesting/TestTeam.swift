public import APNSProvider
import Matching

/// A team of a ``TestAPNs``: its identifiers, its signing key, its apps and its devices. Tests that make a team each do not
/// disturb each other.
public struct TestTeam: Sendable {
    /// Ten capital letters and digits.
    public let id: String
    /// Ten capital letters and digits.
    public let keyID: String
    /// The signing key of provider tokens: the contents of a `.p8` file, PEM.
    public let privateKeyPEM: String
    /// The first app's bundle ID: the topic.
    public let bundleID: String
    /// The bundle IDs of all apps.
    public let bundleIDs: [String]
    public let devices: [TestDevice]
    private let apns: TestAPNs

    struct Description: Decodable {
        struct Key: Decodable {
            let keyID: String
            let privateKey: String
        }
        struct Device: Decodable {
            let deviceID: String
            let tokens: [String: String]
        }
        let teamID: String
        let apps: [String]
        let keys: [Key]
        let devices: [Device]
    }

    init(_ description: Description, in apns: TestAPNs) {
        self.apns = apns
        id = description.teamID
        keyID = description.keys.first?.keyID ?? ""
        privateKeyPEM = description.keys.first?.privateKey ?? ""
        bundleIDs = description.apps
        bundleID = description.apps.first ?? ""
        devices = description.devices.map {
            TestDevice(id: $0.deviceID, tokens: $0.tokens, management: apns.management)
        }
    }

    /// The team's signing key, for `APNSProvider`.
    public var credentials: ProviderCredentials {
        get throws { try ProviderCredentials(key: privateKeyPEM, keyID: keyID, teamID: id) }
    }

    /// The requests of this team that match, as soon as there are `count` of them; sooner ones count too.
    /// - Parameters:
    ///   - count: 0 waits to the end, and succeeds if nothing matched.
    ///   - timeout: how long to wait for them at most.
    /// - Throws: ``TestAPNsError/Code/timedOut``, with the nearest misses and what differs in them.
    @discardableResult
    public func wait(
        for pattern: RequestPattern = RequestPattern(),
        count: Int = 1,
        timeout: Duration = .seconds(5),
    ) async throws(TestAPNsError) -> [TestRequest] {
        struct Question: Encodable, Sendable {
            let match: RequestPattern
            let count: Int
            let timeout: String
        }
        struct Seen: Decodable { let requests: [TestRequest] }
        let question = Question(match: own(pattern), count: count, timeout: timeout.iso8601)
        let seen: Seen = try await apns.management.ask("POST", "/v1/requests/wait", question)
        return seen.requests
    }

    /// Has faults happen to this team's requests, and to nobody else's.
    /// - Parameter seed: decides which requests a share hits; the same seed hits the same.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service refuses a rule.
    public func rehearse(_ rules: RehearsalRule..., seed: UInt64 = 1) async throws(TestAPNsError) {
        struct Document: Encodable, Sendable {
            let seed: UInt64
            let rules: [RehearsalRule]
        }
        let own = rules.map { rule in
            var rule = rule
            rule.match = self.own(rule.match)
            return rule
        }
        let _: Ignored = try await apns.management.ask("POST", "/v1/rehearsals", Document(seed: seed, rules: own))
    }

    /// What this team's clients did that the documents advise against. A good client has none.
    public func findings() async throws(TestAPNsError) -> [ClientFinding] {
        struct Report: Decodable { let findings: [ClientFinding] }
        let report: Report = try await apns.management.ask("GET", "/v1/reports?team=\(id)")
        return report.findings
    }

    /// Removes the team and everything of it, on live connections too.
    public func remove() async throws(TestAPNsError) {
        let _: Ignored = try await apns.management.ask("DELETE", "/v1/teams/\(id)")
    }

    private func own(_ pattern: RequestPattern) -> RequestPattern {
        var pattern = pattern
        pattern.team = id
        return pattern
    }
}
