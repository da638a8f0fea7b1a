public import APNSProvider
import Matching

/// A team of a ``TestAPNs``, with its signing key, apps and devices. If each test makes its own team, tests do not
/// disturb each other.
public struct TestTeam: Sendable {
    /// The team's ID: ten capital letters and digits.
    public let id: String
    /// The ID of the team's signing key: ten capital letters and digits.
    public let keyID: String
    /// The key that signs provider tokens, in PEM, as in a `.p8` file.
    public let privateKeyPEM: String
    /// The first app's bundle ID, which is also its topic.
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

    /// Makes a broadcast channel of one of the team's apps. Its devices subscribe with ``TestDevice/subscribe(to:bundleID:)``.
    /// - Parameters:
    ///   - bundleID: the app; nil for the first one.
    ///   - keepsNewest: whether the channel keeps its newest broadcast for devices that are offline.
    /// - Returns: the channel's identifier.
    /// - Throws: ``TestAPNsError/Code/refused`` if the app does not exist, or has too many channels.
    public func makeChannel(
        of bundleID: String? = nil,
        keepsNewest: Bool = false,
    ) async throws(TestAPNsError) -> String {
        struct Question: Encodable, Sendable {
            let bundleID: String
            let messageStoragePolicy: Int
        }
        struct Made: Decodable { let channelID: String }
        let question = Question(bundleID: bundleID ?? self.bundleID, messageStoragePolicy: keepsNewest ? 1 : 0)
        let made: Made = try await apns.management.ask("POST", "/v1/channels", question)
        return made.channelID
    }

    /// Waits until `count` of this team's requests match. Requests that came before the call count too.
    /// - Parameters:
    ///   - count: the number of requests to wait for. With 0, waits until the timeout, and succeeds if no request
    ///     matched.
    ///   - timeout: the longest time to wait.
    /// - Throws: ``TestAPNsError/Code/timedOut``, which names the requests that differ least and what differs.
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

    /// Begins a rehearsal: causes faults in this team's requests, and in no other team's.
    /// - Parameter seed: decides which requests a share selects. With the same seed, the same requests are selected.
    /// - Throws: ``TestAPNsError/Code/refused`` if a rule is not valid.
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

    /// What the team's clients did although the Guide or Apple's documentation advises against it. A good client has
    /// no findings.
    public func findings() async throws(TestAPNsError) -> [ClientFinding] {
        struct Report: Decodable { let findings: [ClientFinding] }
        let report: Report = try await apns.management.ask("GET", "/v1/reports?team=\(id)")
        return report.findings
    }

    /// Deletes the team with its apps, key and devices. This affects open connections too.
    public func remove() async throws(TestAPNsError) {
        let _: Ignored = try await apns.management.ask("DELETE", "/v1/teams/\(id)")
    }

    private func own(_ pattern: RequestPattern) -> RequestPattern {
        var pattern = pattern
        pattern.team = id
        return pattern
    }
}
