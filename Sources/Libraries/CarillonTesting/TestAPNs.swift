public import APNSProvider
import Foundation
import Logging
import Matching
import NIOCore
import Notifications
import Service

/// A push notification service for a test, in the test's own process.
///
/// It keeps everything in memory, listens on ports of 127.0.0.1 that the system chooses, and leaves nothing behind.
/// Several can run at the same time. Your client library connects to it as it connects to APNs: give it ``host``,
/// ``port`` and ``authorityPEM``.
///
/// ```swift
/// try await TestAPNs.run { apns in
///     let team = try await apns.makeTeam()
///     let phone = team.devices[0]
///     // … have your provider send to phone.token(for: team.bundleID)
///     let requests = try await team.wait(for: RequestPattern(outcome: .delivered))
///     #expect(requests[0].payload == ["aps": ["alert": "Your order is ready"]])
/// }
/// ```
public final class TestAPNs: Sendable {
    /// The settings of a test service. The default values suit most tests.
    public struct Configuration: Sendable {
        /// Whether the service refuses requests that break a documented rule, even if Apple's service accepts them.
        public var isStrict = false
        /// Whether the service has a virtual clock, which ``TestAPNs/advance(by:)`` advances.
        public var hasVirtualClock = false
        /// Whether an app's own device token serves the app's own topic only, as with Apple's service. Each service of
        /// the app, such as calls or Live Activities, then has a device token of its own: ``TestDevice/tokens``.
        public var hasTokensByService = false
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
    private let serving: Task<Void, Never>

    /// Starts a service. End it with ``shutDown()``, or use ``run(_:_:)``, which does both.
    /// - Throws: ``TestAPNsError/Code/notStarted`` if the service cannot start.
    public init(_ configuration: Configuration = Configuration()) async throws(TestAPNsError) {
        var settings = Settings()
        settings.store = .memory
        settings.ports = .ephemeral
        settings.hostnames = configuration.hostnames
        settings.conformance = configuration.isStrict ? .strict : .apple
        settings.tokensByService = configuration.hasTokensByService
        settings.clock = configuration.hasVirtualClock ? .virtual : .system
        settings.shutdownTimeout = .seconds(1)
        let service: CarillonService
        do {
            service = try await CarillonService.start(
                settings, logger: Logger(label: "carillon") { _ in SwiftLogNoOpLogHandler() })
        } catch {
            throw TestAPNsError(.notStarted, error.description)
        }
        serving = Task { await service.run() }
        let description = service.description
        guard let addresses = description.development, let provider = Self.parts(of: addresses.provider),
            let binary = Self.parts(of: addresses.binary), let place = description.management, let key = place.key,
            let authority = FileManager.default.contents(atPath: description.ca)
        else {
            serving.cancel()
            await serving.value
            throw TestAPNsError(.notStarted, "The service did not say where it listens.")
        }
        (host, port) = provider
        binaryPort = binary.port
        authorityPEM = String(decoding: authority, as: UTF8.self)
        management = ManagementCalls(url: place.url, key: key)
    }

    private static func parts(of address: String) -> (host: String, port: Int)? {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...])
        else { return nil }
        return (String(address[..<colon]), port)
    }

    /// Closes all connections, ends the service and removes its files.
    public func shutDown() async {
        serving.cancel()
        await serving.value
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

    /// The service of the running test. The test or its suite needs the trait ``Testing/Trait/apns``.
    public static var current: TestAPNs {
        get throws(TestAPNsError) {
            guard let apns = running else {
                throw TestAPNsError(.noCurrent, "No service runs for this test; give it the trait .apns.")
            }
            return apns
        }
    }

    @TaskLocal static var running: TestAPNs?

    /// The service as an ``APNSEnvironment``, for `APNSProvider`.
    public var environment: APNSEnvironment {
        get throws { try .custom(url: "https://\(host):\(port)", authority: .pem(authorityPEM)) }
    }

    /// Makes a team with apps, a signing key and devices.
    /// - Parameters:
    ///   - bundleIDs: the team's apps; each device has all of them. A bundle ID can belong to only one team. nil
    ///     makes one app, with a bundle ID that no other team has.
    ///   - devices: the behaviour of each device.
    /// - Throws: ``TestAPNsError/Code/refused`` if a bundle ID belongs to another team.
    public func makeTeam(
        name: String = "Test",
        bundleIDs: [String]? = nil,
        devices: [DeviceBehaviour] = [.online],
    ) async throws(TestAPNsError) -> TestTeam {
        struct Document: Encodable {
            struct Team: Encodable {
                let name: String
                let apps: [String]
                let devices: [Device]
            }
            struct Device: Encodable {
                let name: String
                let behaviour: DeviceBehaviour
            }
            let teams: [Team]
        }
        struct Made: Decodable { let teams: [TestTeam.Description] }
        let phones = devices.enumerated().map {
            Document.Device(name: "device \($0.offset + 1)", behaviour: $0.element)
        }
        let apps = bundleIDs ?? ["com.example.test-\(UUID().uuidString.prefix(8).lowercased())"]
        let team = Document.Team(name: name, apps: apps, devices: phones)
        let made: Made = try await management.ask("POST", "/v1/fixtures", Document(teams: [team]))
        guard let description = made.teams.first else {
            throw TestAPNsError(.refused, "The service's answer contains no team.")
        }
        return TestTeam(description, in: self)
    }

    /// Advances the service's clock. When this returns, everything that became due has happened. For example,
    /// provider tokens have become too old, notifications have expired, and notifications that were held back were
    /// sent.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service has no virtual clock, or if the duration is negative.
    public func advance(by duration: Duration) async throws(TestAPNsError) {
        let _: Ignored = try await management.ask("POST", "/v1/clock", ["advance": duration.iso8601])
    }

    /// Ends all rehearsals.
    public func endRehearsals() async throws(TestAPNsError) {
        let _: Ignored = try await management.ask("DELETE", "/v1/rehearsals")
    }
}

/// Decodes an answer whose content does not matter.
struct Ignored: Decodable {}
