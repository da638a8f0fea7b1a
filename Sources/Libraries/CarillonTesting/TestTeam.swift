public import APNSProvider
import Foundation
import Management
import Matching
import Notifications

/// A team of a ``TestAPNs``, with its signing key, apps and devices. If each test makes its own team, tests do not
/// disturb each other. It has everything that a provider needs to know.
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
    /// The devices that were made with the team.
    public let devices: [TestDevice]
    private let apns: TestAPNs
    /// The number of the newest entry of the journal from before the test.
    private let since: Int

    /// The URL that providers connect to.
    public var url: String { apns.url }
    /// The address that providers connect to.
    public var host: String { apns.host }
    /// The port that providers connect to.
    public var port: Int { apns.port }
    /// The root certificate that clients have to trust, in PEM.
    public var authorityPEM: String { apns.authorityPEM }
    /// The service as an `APNSEnvironment`, for `APNSProvider`.
    public var environment: APNSEnvironment {
        get throws { try apns.environment }
    }
    /// The team's clock.
    public var clock: TestClock { TestClock(team: scope, management: apns.management) }

    /// Environment variables with all that a backend in a process of its own has to know: `APNS_URL`, `APNS_CA_FILE`,
    /// `APNS_KEY_FILE` and so on, as in the packages for other languages. Their files are removed when the service ends.
    /// - Throws: ``TestAPNsError/Code/refused`` if a file cannot be written.
    public var environmentVariables: [String: String] {
        get throws(TestAPNsError) {
            let authority = try apns.file("ca.pem", authorityPEM)
            return [
                "APNS_URL": url, "APNS_HOST": host, "APNS_PORT": "\(port)", "APNS_CA_FILE": authority,
                "APNS_TEAM_ID": id, "APNS_KEY_ID": keyID,
                "APNS_KEY_FILE": try apns.file("AuthKey_\(keyID).p8", privateKeyPEM), "APNS_PRIVATE_KEY": privateKeyPEM,
                "APNS_TOPIC": bundleID,
                // OpenSSL and Go trust the authorities in this file in place of the system's.
                "SSL_CERT_FILE": authority,
            ]
        }
    }

    init(_ id: String, _ made: ManagementMessages.FixtureTeam, in apns: TestAPNs, since: Int) {
        self.apns = apns
        self.since = since
        self.id = id
        keyID = made.keys?.first?.keyID ?? ""
        privateKeyPEM = made.keys?.first?.privateKey ?? ""
        bundleIDs = (made.apps ?? []).map(\.bundleID)
        let bundleID = bundleIDs.first ?? ""
        self.bundleID = bundleID
        devices = (made.devices ?? []).map {
            TestDevice(
                id: $0.deviceID ?? "", tokens: $0.tokens ?? [:], bundleID: bundleID, management: apns.management)
        }
    }

    /// The team's signing key, for `APNSProvider`.
    public var credentials: ProviderCredentials {
        get throws { try ProviderCredentials(key: privateKeyPEM, keyID: keyID, teamID: id) }
    }

    /// Makes a virtual device with all of the team's apps.
    /// - Parameters:
    ///   - behaviour: how the device handles notifications.
    ///   - name: what the console shows of the device.
    ///   - token: the device token of the first app in hexadecimal digits; nil lets the service make one.
    /// - Throws: ``TestAPNsError/Code/refused`` if the token is not valid, or another device has it.
    public func device(
        _ behaviour: DeviceBehaviour = .online,
        name: String = "phone",
        token: String? = nil,
    ) async throws(TestAPNsError) -> TestDevice {
        let device = ManagementMessages.FixtureDevice(
            name: name, behaviour: try behaviour.message, tokens: token.map { [bundleID: $0] })
        return try await make(device, token).device
    }

    /// Makes a device, and a subscription of the team's first app on it to Web Push. Any Web Push library can send to it, and
    /// ``TestRequest/text`` is what was sent.
    /// - Parameters:
    ///   - behaviour: how the device handles messages.
    ///   - name: what the console shows of the device.
    ///   - subscription: its name, 1 to 100 bytes; nil makes one.
    ///   - vapid: the only public key that may sign, in base64url; nil if anybody may send.
    ///   - acceptsPlain: whether messages without encryption are accepted.
    /// - Throws: ``TestAPNsError/Code/refused`` if the key is not valid, or the service has no Web Push.
    public func webPush(
        _ behaviour: DeviceBehaviour = .online,
        name: String = "phone",
        subscription: String? = nil,
        vapid: String? = nil,
        acceptsPlain: Bool = false,
    ) async throws(TestAPNsError) -> TestSubscription {
        let wanted = ManagementMessages.FixtureSubscription(
            bundleID: bundleID, name: subscription ?? String(UUID().uuidString.prefix(8).lowercased()), vapid: vapid,
            plain: acceptsPlain)
        let (device, made) = try await make(
            ManagementMessages.FixtureDevice(
                name: name, behaviour: try behaviour.message, subscriptions: [wanted]), nil)
        guard let subscription = made.subscriptions?.first else {
            throw TestAPNsError(.refused, "The service's answer contains no subscription.")
        }
        return TestSubscription(
            name: subscription.name, endpoint: subscription.endpoint, p256dh: subscription.p256dh,
            auth: subscription.auth, privateKey: subscription.privateKey, device: device)
    }

    private func make(
        _ device: ManagementMessages.FixtureDevice, _ token: String?
    ) async throws(TestAPNsError) -> (device: TestDevice, made: ManagementMessages.Device) {
        let made: ManagementMessages.Device = try await apns.management.ask(
            "POST", "/v1/devices", ManagementMessages.NewDevice(team: id, device: device))
        apns.remember(made, in: id)
        var tokens = Dictionary(made.apps.map { ($0.bundleID, $0.token) }, uniquingKeysWith: { first, _ in first })
        if let token { tokens[bundleID] = token }
        return (
            TestDevice(id: made.deviceID, tokens: tokens, bundleID: bundleID, management: apns.management), made
        )
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
        let channel = ManagementMessages.NewChannel(
            bundleID: bundleID ?? self.bundleID, messageStoragePolicy: keepsNewest ? 1 : 0)
        let made: ManagementMessages.Channel = try await apns.management.ask("POST", "/v1/channels", channel)
        return made.channelID
    }

    /// This team's requests that match, oldest first: at most 1,000 of them.
    /// - Throws: ``TestAPNsError/Code/refused`` if the journal of the service is off.
    public func requests(
        _ pattern: RequestPattern = RequestPattern()
    ) async throws(TestAPNsError) -> [TestRequest] {
        let requests: [TestRequest] = try await apns.management.ask(
            "GET", "/v1/requests?limit=1000&\(own(pattern).query)")
        if requests.isEmpty { try await apns.checkJournal() }
        return requests
    }

    /// Waits until `count` of this team's requests match. Requests that came before the call count too.
    /// - Parameters:
    ///   - pattern: what the requests have to match; every request of the team matches the empty one.
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
        struct Seen: Decodable { let requests: [TestRequest] }
        let pattern = own(pattern)
        let question = ManagementMessages.Wait(
            match: .object(pattern.members), count: count, timeout: timeout.iso8601)
        do {
            let seen: Seen = try await apns.management.ask(
                "POST", "/v1/requests/wait", question, timeLimit: timeout + ManagementCalls.briefLimit)
            return seen.requests
        } catch {
            guard error.code == .timedOut, let explanation = WaitExplanation(error.cause) else { throw error }
            throw TestAPNsError(
                .timedOut,
                explanation.text(of: pattern, count: count, timeout: timeout, in: apns, since: since))
        }
    }

    /// Begins a rehearsal: causes faults in this team's requests, and in no other team's. Faults of TLS happen to the
    /// connections of all teams, because they come before the service knows the team.
    /// - Parameters:
    ///   - rules: the first one that fires for a request decides about it.
    ///   - seed: decides which requests a share selects. With the same seed, the same requests are selected.
    /// - Throws: ``TestAPNsError/Code/refused`` if a rule is not valid.
    public func rehearse(_ rules: RehearsalRule..., seed: UInt64 = 1) async throws(TestAPNsError) {
        let rules = rules.map { rule in
            var rule = rule
            if !rule.fault.isAboutConnections { rule.match = own(rule.match) }
            return rule
        }
        try await apns.rehearse(rules, seed: seed)
    }

    /// What the team's clients did although the Guide or Apple's documentation advises against it. A good client has
    /// no findings.
    public func report() async throws(TestAPNsError) -> [ClientFinding] {
        struct Report: Decodable { let findings: [ClientFinding] }
        let query = scope.map { "?team=\($0.percentEncoded)" } ?? ""
        let report: Report = try await apns.management.ask("GET", "/v1/reports\(query)")
        return report.findings
    }

    /// Deletes the team with its apps, key and devices. This affects open connections too.
    public func remove() async throws(TestAPNsError) {
        let _: Ignored = try await apns.management.ask("DELETE", "/v1/teams/\(id)")
    }

    /// The name of ``report()`` in version 0.1.
    @available(*, deprecated, renamed: "report")
    public func findings() async throws(TestAPNsError) -> [ClientFinding] { try await report() }

    /// The team whose requests this one sees; nil for all. A backend with data of its own has a team of its own.
    private var scope: String? { apns.acceptsAny ? nil : id }

    private func own(_ pattern: RequestPattern) -> RequestPattern {
        var pattern = pattern
        pattern.team = scope
        return pattern
    }
}
