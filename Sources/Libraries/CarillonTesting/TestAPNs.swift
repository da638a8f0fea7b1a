public import APNSProvider
import Foundation
import Logging
import Management
import Matching
import NIOCore
import Notifications
import Service
import Synchronization

/// A push notification service for a test, in the test's own process.
///
/// It keeps everything in memory, listens on ports of 127.0.0.1 that the system chooses, and leaves nothing behind.
/// Several can run at the same time. Your client library connects to it as it connects to APNs: give it ``url``, or
/// ``host`` and ``port``, and ``authorityPEM``.
///
/// ```swift
/// @Test(.apns) func theCustomerIsTold() async throws {
///     let apns = try await TestAPNs.team()
///     let phone = try await apns.device()
///     try await notify(apns.environmentVariables, phone.token, "Your order is ready")  // your backend
///     let requests = try await apns.wait(for: RequestPattern(outcome: .delivered))
///     #expect(requests[0].payload == ["aps": ["alert": "Your order is ready"]])
/// }
/// ```
///
/// If the environment variable `CARILLON_MANAGEMENT_URL` is set, that service is used in place of one in the test's
/// process.
public final class TestAPNs: Sendable {
    /// The settings of a test service. The default values suit most tests.
    public struct Configuration: Sendable {
        /// Whether the service refuses requests that break a documented rule, even if Apple's service accepts them.
        public var isStrict = false
        /// Whether the service has a virtual clock, which ``TestAPNs/advance(by:)`` and ``TestClock`` advance.
        public var hasVirtualClock = true
        /// Whether an app's own device token serves the app's own topic only, as with Apple's service. Each service of
        /// the app, such as calls or Live Activities, then has a device token of its own: ``TestDevice/tokens``.
        public var hasTokensByService = false
        /// Whether the service makes teams, keys, topics and device tokens that it does not know at their first sight,
        /// for a backend with data of its own. A ``TestTeam`` then sees the requests of all teams.
        public var acceptsAny = false
        /// More names for the server's certificate. They are needed if a client insists on Apple's host names.
        public var hostnames: [String] = []

        /// Creates a configuration with the default values.
        public init() {}
    }

    /// The address that providers connect to.
    public let host: String
    /// The port of the HTTP/2 provider API, in the development environment.
    public let port: Int
    /// The port of the legacy binary API, in the development environment.
    public let binaryPort: Int
    /// The root certificate that clients have to trust, in PEM.
    public let authorityPEM: String
    let management: ManagementCalls
    /// The service; nil if it does not run in this process.
    private let serving: Task<Void, Never>?
    let acceptsAny: Bool
    /// The teams that were made, at most ``mostTeams`` of them, if other tests may use the service too. Each with the number
    /// of the newest entry of the journal from before it.
    private let teams = Mutex<[(id: String, since: Int)]>([])
    /// The subscriptions to Web Push that were made for each team, by its ID, and the teams with devices without one.
    private let subscriptions = Mutex<[String: [(name: String, endpoint: String)]]>([:])
    private let teamsWithDevices = Mutex<Set<String>>([])
    private let files = TemporaryFiles()
    /// The paths of what was made in a service that does not run in this process, in the order in which it was made.
    private let leftovers = Mutex<[String]>([])
    /// The number of teams whose requests a failed test shows.
    private static let mostTeams = 20
    /// The number of requests that a failed test shows: a person reads no more.
    private static let mostRequests = 20

    init(_ place: Place, serving: Task<Void, Never>?, acceptsAny: Bool) {
        self.acceptsAny = acceptsAny
        (host, port) = (place.provider.host, place.provider.port)
        binaryPort = place.binaryPort
        authorityPEM = place.authorityPEM
        management = place.management
        self.serving = serving
    }

    /// Starts a service, or uses the one that the environment variable `CARILLON_MANAGEMENT_URL` names. End it with
    /// ``shutDown()``, or use ``run(_:_:)``, which does both.
    /// - Throws: ``TestAPNsError/Code/notStarted`` if the service cannot start.
    public convenience init(_ configuration: Configuration = Configuration()) async throws(TestAPNsError) {
        if let place = try await Place(environment: ProcessInfo.processInfo.environment) {
            self.init(place, serving: nil, acceptsAny: configuration.acceptsAny)
        } else {
            let (place, serving) = try await Self.start(configuration)
            self.init(place, serving: serving, acceptsAny: configuration.acceptsAny)
        }
    }

    /// Uses a service that runs already, and does not end it. It needs `--clock virtual` for the clock, and a journal.
    /// - Parameters:
    ///   - url: the URL of its management API.
    ///   - key: the key of its management API.
    /// - Throws: ``TestAPNsError/Code/refused`` if it does not answer, or does not take the key.
    public convenience init(attachingTo url: String, key: String) async throws(TestAPNsError) {
        self.init(try await Place(url: url, key: key, environment: [:]), serving: nil, acceptsAny: false)
    }

    private static func start(
        _ configuration: Configuration
    ) async throws(TestAPNsError) -> (Place, Task<Void, Never>) {
        var settings = Settings()
        settings.store = .memory
        settings.ports = .ephemeral
        settings.hostnames = configuration.hostnames
        settings.conformance = configuration.isStrict ? .strict : .apple
        settings.tokensByService = configuration.hasTokensByService
        settings.clock = configuration.hasVirtualClock ? .virtual : .system
        settings.accept = configuration.acceptsAny ? .any : .known
        settings.shutdownTimeout = .seconds(1)
        settings.useLimitsForTests()
        let service: CarillonService
        do {
            try settings.setWebPush("127.0.0.1:0")
            service = try await CarillonService.start(
                settings, logger: Logger(label: "carillon") { _ in SwiftLogNoOpLogHandler() })
        } catch {
            throw TestAPNsError(.notStarted, error.description)
        }
        let serving = Task { await service.run() }
        let description = service.description
        guard let addresses = description.development, let provider = ListenAddress(addresses.provider),
            let binary = ListenAddress(addresses.binary), let place = description.management, let key = place.key,
            let authority = FileManager.default.contents(atPath: description.ca)
        else {
            serving.cancel()
            await serving.value
            throw TestAPNsError(.notStarted, "The service did not say where it listens.")
        }
        let found = Place(
            provider: provider, binaryPort: binary.port, authorityPEM: String(decoding: authority, as: UTF8.self),
            management: ManagementCalls(url: place.url, key: key))
        return (found, serving)
    }

    /// Closes all connections, ends the service and removes its files. If the service does not run in this process, it goes
    /// on, and what was made in it here is removed: rehearsals, and teams with what they have.
    public func shutDown() async {
        files.remove()
        guard let serving else { return await removeLeftovers() }
        serving.cancel()
        await serving.value
    }

    private func removeLeftovers() async {
        let paths = leftovers.withLock { paths in
            defer { paths = [] }
            return paths
        }
        // In a task of its own, because a test that exceeds its time limit is cancelled, and then sends no requests.
        await Task { [management] in
            for path in paths.reversed() {
                // The service may have ended before, or somebody has removed it already.
                let _: Ignored? = try? await management.ask("DELETE", path)
            }
        }.value
    }

    /// Runs a service until `body` returns.
    /// - Throws: the error of `body`, or ``TestAPNsError/Code/notStarted``.
    public static func run<Result>(
        _ configuration: Configuration = Configuration(),
        _ body: (TestAPNs) async throws -> Result,
    ) async throws -> Result {
        let apns = try await TestAPNs(configuration)
        do {
            let result = try await body(apns)
            await apns.shutDown()
            return result
        } catch {
            await apns.shutDown()
            throw error
        }
    }

    /// The service of the running test. The test or its suite needs the trait `.apns` (``APNsTrait``).
    public static var current: TestAPNs {
        get throws(TestAPNsError) {
            guard let apns = running else {
                throw TestAPNsError(.noCurrent, "No service runs for this test; give it the trait .apns.")
            }
            return apns
        }
    }

    @TaskLocal static var running: TestAPNs?

    /// A team of the service of the running test, with an app and a signing key. The test or its suite needs the trait
    /// `.apns` (``APNsTrait``). Make devices with ``TestTeam/device(_:name:token:)``.
    /// - Parameter bundleID: the app; nil makes one that no other team has.
    /// - Throws: ``TestAPNsError/Code/noCurrent`` without the trait.
    public static func team(bundleID: String? = nil) async throws(TestAPNsError) -> TestTeam {
        try await current.makeTeam(bundleIDs: bundleID.map { [$0] }, devices: [])
    }

    /// The URL and the key of the management API: for other programs that use this service, by the variables
    /// `CARILLON_MANAGEMENT_URL` and `CARILLON_MANAGEMENT_KEY`.
    public var managementAddress: (url: String, key: String) { (management.url, management.key) }

    /// The URL that providers connect to.
    public var url: String { "https://" + ListenAddress(host: host, port: port).text }

    /// The service as an `APNSEnvironment`, for `APNSProvider`.
    public var environment: APNSEnvironment {
        get throws { try .custom(url: url, authority: .pem(authorityPEM)) }
    }

    /// Makes a team with apps, a signing key and devices.
    /// - Parameters:
    ///   - name: what the console shows of the team.
    ///   - bundleIDs: the team's apps; each device has all of them. A bundle ID can belong to only one team. nil
    ///     makes one app, with a bundle ID that no other team has.
    ///   - devices: the behaviour of each device.
    /// - Throws: ``TestAPNsError/Code/refused`` if a bundle ID belongs to another team.
    public func makeTeam(
        name: String = "Test",
        bundleIDs: [String]? = nil,
        devices: [DeviceBehaviour] = [.online],
    ) async throws(TestAPNsError) -> TestTeam {
        var phones: [ManagementMessages.FixtureDevice] = []
        for (index, behaviour) in devices.enumerated() {
            phones.append(.init(name: "device \(index + 1)", behaviour: try behaviour.message))
        }
        let apps = bundleIDs ?? ["com.example.test-\(UUID().uuidString.prefix(8).lowercased())"]
        let wanted = ManagementMessages.FixtureTeam(name: name, apps: apps, devices: phones)
        let made: ManagementMessages.Fixture = try await management.ask(
            "POST", "/v1/fixtures", ManagementMessages.Fixture(teams: [wanted]))
        guard let team = made.teams?.first, let id = team.teamID else {
            throw TestAPNsError(.refused, "The service's answer contains no team.")
        }
        let since = made.service?.members["journal"]?.members["newest"]?.double.flatMap { Int(exactly: $0) } ?? 0
        if serving == nil { leftovers.withLock { $0.append("/v1/teams/\(id)") } }
        if serving == nil, !acceptsAny {
            teams.withLock { $0 = ($0 + [(id, since)]).suffix(Self.mostTeams) }
        }
        return TestTeam(id, team, in: self, since: since)
    }

    /// Writes a file that is removed when the service ends, and returns its path.
    func file(_ name: String, _ text: String) throws(TestAPNsError) -> String {
        do {
            return try files.write(text, as: name)
        } catch {
            throw TestAPNsError(.refused, "A temporary file cannot be written: \(error.localizedDescription)")
        }
    }

    /// Remembers what was made in a team, for the explanation of a wait that fails.
    func remember(_ device: ManagementMessages.Device, in team: String) {
        let made = (device.subscriptions ?? []).map { ($0.name, $0.endpoint) }
        if made.isEmpty {
            teamsWithDevices.withLock { _ = $0.insert(team) }
        } else {
            subscriptions.withLock { $0[team, default: []] += made }
        }
    }

    /// Where the backend has to send if the pattern is about Web Push: the endpoint; otherwise nil.
    func endpoint(of pattern: RequestPattern) -> String? {
        let wanted = pattern.members
        guard let team = wanted["team"]?.string, let made = subscriptions.withLock({ $0[team] }) else { return nil }
        let isWebPush =
            wanted["subscription"] != nil || wanted["text"] != nil || wanted["protocol"]?.string == "webpush"
        guard isWebPush || !teamsWithDevices.withLock({ $0.contains(team) }) else { return nil }
        let name = wanted["subscription"]?.string
        return (made.first { $0.name == name } ?? made.last)?.endpoint
    }

    /// If the journal is off, nobody knows what was sent.
    func checkJournal() async throws(TestAPNsError) {
        let journal: ManagementMessages.Journal = try await management.ask("GET", "/v1/journal")
        guard journal.keep == 0 else { return }
        throw TestAPNsError(
            .refused,
            "The journal of the Carillon at \(management.url) is off, so nobody knows what was sent: start it with --journal "
                + "10000.")
    }

    /// The newest requests of the test's backend, each in one line of text: for the message of a failed test. If there is
    /// none, the connections that failed.
    func sent() async -> [String] {
        let teams = self.teams.withLock { $0 }
        var lines: [String] = []
        do {
            for team in teams.isEmpty ? [""] : teams.map({ "&team=\($0.id)" }) {
                var after = ""
                while true {
                    let path = "/v1/requests?limit=1000\(team)\(after)"
                    let page: [[String: JSONValue]] = try await management.ask("GET", path)
                    lines = (lines + page.map(RequestLine.text)).suffix(Self.mostRequests)
                    guard page.count == 1000, let number = page.last?["number"] else { break }
                    after = "&after=" + RequestLine.shown(number)
                }
            }
            if lines.isEmpty {
                try await checkJournal()
                let query = "outcome=failed&after=\(teams.first?.since ?? 0)&limit=\(Self.mostRequests)"
                let failed: [[String: JSONValue]] = try await management.ask("GET", "/v1/requests?\(query)")
                lines = failed.map(RequestLine.text)
            }
        } catch {
            return [error.cause]
        }
        return lines.isEmpty ? ["nothing"] : lines
    }

    /// Advances the service's clock. When this returns, everything that became due has happened. For example,
    /// provider tokens have become too old, notifications have expired, and notifications that were held back were
    /// sent.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service has no virtual clock, or if the duration is negative.
    public func advance(by duration: Duration) async throws(TestAPNsError) {
        try await TestClock(team: nil, management: management).advance(by: duration)
    }

    /// Begins a rehearsal that causes faults for all teams. Faults of TLS come before the service knows the team.
    /// - Parameters:
    ///   - rules: the first one that fires for a request decides about it.
    ///   - seed: decides which requests or connections a share selects.
    /// - Throws: ``TestAPNsError/Code/refused`` if a rule is not valid.
    public func rehearse(_ rules: RehearsalRule..., seed: UInt64 = 1) async throws(TestAPNsError) {
        try await rehearse(rules, seed: seed)
    }

    func rehearse(_ rules: [RehearsalRule], seed: UInt64) async throws(TestAPNsError) {
        struct Document: Encodable, Sendable {
            let seed: UInt64
            let rules: [RehearsalRule]
        }
        let begun: ManagementMessages.RehearsalBegun = try await management.ask(
            "POST", "/v1/rehearsals", Document(seed: seed, rules: rules))
        if serving == nil { leftovers.withLock { $0.append("/v1/rehearsals/\(begun.rehearsal)") } }
    }

    /// The root of the other authority, in PEM. In rehearsals a client may get certificates of it. Until this is called,
    /// the report takes it for granted that no client trusts it.
    public func otherAuthorityPEM() async throws(TestAPNsError) -> String {
        try await management.text("GET", "/other-ca.pem")
    }

    /// Ends all rehearsals.
    public func endRehearsals() async throws(TestAPNsError) {
        let all: [ManagementMessages.Rehearsal] = try await management.ask("GET", "/v1/rehearsals")
        for rehearsal in all where rehearsal.active {
            let _: Ignored = try await management.ask("DELETE", "/v1/rehearsals/\(rehearsal.rehearsal)")
        }
    }
}

/// Decodes an answer whose content does not matter.
struct Ignored: Decodable {}
