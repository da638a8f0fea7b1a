import CommonTesting
import APNSDevice
import APNSProvider
import Delivery
import Foundation
import Logging
import NIOCore
import Management
import Notifications
import Service
import Trust

/// A whole service in this process, with a temporary folder and ports that the system chose.
struct TestService: Sendable {
    let service: CarillonService
    let environment: Environment
    private let serving: Task<Void, Never>

    /// The same service in another environment.
    func `in`(_ environment: Environment) -> TestService {
        TestService(service: service, environment: environment, serving: serving)
    }

    /// Begins a clean shutdown.
    func stop() { serving.cancel() }

    /// Runs a service while `body` runs, and ends it cleanly.
    static func run(
        environment: Environment = .development,
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await Turns.services.hold { try await runNow(environment: environment, { $0 }, change, body) }
    }

    /// Runs a service that keeps everything in memory.
    static func runInMemory(_ body: (TestService) async throws -> Void) async throws {
        try await runWrapping({ $0 }, { _ in }, body)
    }

    /// Runs a service in memory, with another store that wraps its own.
    static func runWrapping(
        _ wrap: @Sendable (any Store) -> any Store,
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await Turns.services.hold {
            try await runNow(
                environment: .development, wrap,
                {
                    $0.store = .memory
                    change(&$0)
                }, body)
        }
    }

    private static func runNow(
        environment: Environment,
        _ wrap: @Sendable (any Store) -> any Store,
        _ change: (inout Settings) -> Void,
        _ body: (TestService) async throws -> Void,
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var settings = Settings()
        settings.dataFolder = folder.path
        settings.ports = .ephemeral
        settings.eventLoops = 1
        settings.shutdownTimeout = .seconds(2)
        change(&settings)
        let logger = Logger(label: "test") { _ in SilentLog() }
        let service = try await CarillonService.start(settings, logger: logger, wrapping: wrap)
        let serving = Task { await service.run() }
        try await withCleanUp {
            try await body(TestService(service: service, environment: environment, serving: serving))
        } cleanUp: {
            serving.cancel()
            await serving.value
        }
    }

    /// Runs a service, ends it, and runs another one on the same folder.
    static func runTwice<Kept: Sendable>(
        environment: Environment = .development,
        _ first: (TestService) async throws -> Kept,
        between: (_ folder: String, _ kept: Kept) throws -> Void = { _, _ in },
        _ second: (TestService, Kept) async throws -> Void,
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var kept: Kept?
        try await run(environment: environment) {
            $0.dataFolder = folder.path
        } _: {
            kept = try await first($0)
        }
        let known = try required(kept)
        try between(folder.path, known)
        try await run(environment: environment) {
            $0.dataFolder = folder.path
        } _: {
            try await second($0, known)
        }
    }

    var description: ServiceDescription { service.description }

    var bundleID: String { FirstApp.bundleID }

    private enum FirstApp {
        static let bundleID = "com.example.app"
    }

    func port(_ address: KeyPath<ServiceDescription.Addresses, String>) throws -> Int {
        let text = try required(description.addresses(environment))[keyPath: address]
        return try required(Int(text.split(separator: ":").last ?? ""))
    }

    /// A provider token of the development team with this time of issue.
    func providerToken(issuedAt moment: Date = Date()) throws -> String {
        let key = try required(description.key)
        let credentials = try ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID)
        return try credentials.token(at: UInt64(moment.timeIntervalSince1970))
    }

    /// A provider token of the development team with this text as `iat`, made by hand.
    func providerToken(issuedAt written: String) throws -> String {
        let record = try required(description.key)
        let pem = try String(contentsOfFile: record.path, encoding: .utf8)
        return try SignedToken.make(key: pem, keyID: record.keyID, teamID: record.teamID, issuedAt: written)
    }

    /// Connects to the provider API.
    func connectProvider() async throws -> WireClient {
        try await WireClient.connect(port: port(\.provider), authorityFile: description.ca)
    }

    /// Makes an offline device with one registered app.
    /// - Parameter isGone: whether to remove the app from it again.
    func makeDeviceToken(isGone: Bool = false) async throws -> String {
        let identity = try await APNSDevice.DeviceIdentity.activate(
            at: courier, environment: environment, code: try await activationCode())
        let device = try Device(identity, at: courier, delegate: Nobody())
        let token = try await device.register(bundleID)
        if isGone { _ = try await device.unregister(bundleID) }
        await device.close()
        return token
    }

    /// The courier's address.
    var courier: CourierAddress {
        get throws {
            CourierAddress(host: "127.0.0.1", port: try port(\.courier), authorityFile: description.ca)
        }
    }

    /// Returns an activation code, which a device needs in production; nil in development.
    private func activationCode() async throws -> String? {
        guard environment == .production else { return nil }
        let invitation: ManagementMessages.InvitationMade = try await administer(
            "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: environment.rawValue))
        return invitation.code
    }
}
