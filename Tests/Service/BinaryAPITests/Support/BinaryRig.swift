import CommonTesting
import BinaryAPI
import Connections
import Credentials
import Crypto
import Delivery
import DeliveryTesting
import Foundation
import Logging
import Matching
import SQLiteStore
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import Rates
import Stage
import Synchronization
import Trust

/// The binary API and the feedback service over real TLS. Everything behind them is real except the disk.
struct BinaryRig: Sendable {
    static let bundleID = "com.example.app"

    let environment: Environment
    let store: SQLiteStore
    let authority: CertificateAuthority
    let tokenKeys: SharedTokenKeys
    let accounts: CutOffAccounts
    let switchboard: LocalSwitchboard
    let delivery: Delivery
    let clock = TestClock()
    /// The limits that connections have exceeded.
    let exceeded = ExceededLimits()
    private let issued = IssuedSerials()
    let app: App
    private let binary: Listener
    private let feedback: Listener

    struct Options {
        var environment = Environment.production
        var conformance = Conformance.apple
        var limits = BinaryLimits()
        var delivery = DeliveryLimits()
        /// Asks for token keys of other nodes.
        var findKeys: SharedTokenKeys.FindKeys?
        /// Replaces the store's feedback port.
        var feedback: (@Sendable (SQLiteStore) -> any Feedback)?
        var deliveryLog: any DeliveryLog = NoDeliveryLog()
        /// Observes requests.
        var observation: RequestObservation?
        var group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    }

    /// Runs both services while `body` runs.
    static func run(
        _ change: (inout Options) -> Void = { _ in },
        _ body: (BinaryRig) async throws -> Void,
    ) async throws {
        var options = Options()
        options.delivery.requestsPerDeviceToken = .unlimited
        change(&options)
        let rig = try await BinaryRig(options)
        let running = Task { await rig.delivery.run() }
        try await withCleanUp {
            try await body(rig)
        } cleanUp: {
            await rig.shutDown()
            running.cancel()
            await running.value
        }
    }

    private init(_ options: Options) async throws {
        environment = options.environment
        store = try .inMemory()
        let (clock, store) = (self.clock, self.store)
        let time: @Sendable () -> Timestamp = { clock.now }
        var random = SystemRandomNumberGenerator()
        authority = try CertificateAuthority.create(now: Date().timeIntervalSince1970, using: &random)
        let keyID = TokenKeyID(rawValue: 1)
        tokenKeys = SharedTokenKeys(
            try TokenKeys(keys: [keyID: TokenKeys.makeKey()], current: keyID), find: options.findKeys)
        accounts = CutOffAccounts(store)
        let team = Team(id: .random(using: &random), name: "Team")
        _ = try await store.apply(.createTeam(team))
        let bundleID = try Self.bundleID(Self.bundleID)
        app = try Self.required(await store.apply(.createApp(bundleID: bundleID, team: team.id)).apps[bundleID])
        switchboard = LocalSwitchboard(mailboxes: store, limits: options.delivery, clock: { clock.moment })
        delivery = Delivery(
            accounts: store, registrations: store, mailboxes: store, switchboard: switchboard, feedback: store,
            origin: .random(using: &random), limits: options.delivery, clock: ServiceClock { clock.moment })
        let certificates = ProviderCertificates(
            environment: environment, authority: authority, accounts: accounts, clock: time)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let tls = try Self.serverTLS(authority)
        let group = options.group
        let connects = ConnectGuard(
            Limit("connect-rate"), .off, budget: ConnectionBudget(limit: .max),
            log: LimitLog(logger) { [exceeded] in exceeded.record($0) })
        func listen(_ service: some CertifiedService) async throws -> Listener {
            try await Listener.bind(
                .always(service), to: .tcp(host: "127.0.0.1", port: 0), tls: { tls }, connects: connects, group: group,
                logger: logger)
        }
        binary = try await listen(
            BinaryAPI(
                certificates: certificates, conformance: options.conformance, tokenKeys: tokenKeys,
                delivery: delivery, deliveryLog: options.deliveryLog,
                scenes: options.observation.map { BinaryStages($0, options.environment) },
                limits: options.limits))
        feedback = try await listen(
            FeedbackService(
                certificates: certificates, feedback: options.feedback?(store) ?? store, delivery: delivery,
                limits: options.limits))
    }

    private static func serverTLS(_ authority: CertificateAuthority) throws -> NIOSSLContext {
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueServerCertificate(
            names: [], now: Date().timeIntervalSince1970, using: &random)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(required(issued.keyPEM).utf8), format: .pem)))
        tls.minimumTLSVersion = .tlsv12
        tls.certificateVerification = .noHostnameVerification
        return try NIOSSLContext(configuration: tls)
    }

    /// Ends both services like the whole service does.
    func shutDown(within limit: TimeAmount = .seconds(5)) async {
        await binary.shutDown(within: limit)
        await feedback.shutDown(within: limit)
        await delivery.drain()
    }
}

// MARK: - Providers

extension BinaryRig {
    enum Service { case binary, feedback }

    /// The TLS settings of a client with a provider certificate.
    func tls(
        bundleID: String = bundleID,
        environments: Set<Environment>? = nil,
        issuedAt: Date = Date(),
    ) async throws -> TLSConfiguration {
        var random = SystemRandomNumberGenerator()
        let key = P256.Signing.PrivateKey()
        let issued = try authority.issueProviderCertificate(
            request: Array(SigningRequest.pem(for: key).utf8), bundleID: Self.bundleID(bundleID),
            environments: environments ?? [environment], now: issuedAt.timeIntervalSince1970, using: &random)
        self.issued.record(issued.serial)
        // List the certificate in the accounts: others are not trusted.
        _ = try await store.apply(
            .createCertificate(
                TeamCertificate(
                    serial: issued.serial, team: app.team, bundleID: app.bundleID, environments: [environment],
                    validUntil: Timestamp(milliseconds: .max))))
        return try tls(chainPEM: issued.chainPEM, keyPEM: key.pemRepresentation)
    }

    func tls(chainPEM: String, keyPEM: String) throws -> TLSConfiguration {
        var tls = try anonymousTLS()
        tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(chainPEM.utf8)).map { .certificate($0) }
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem))
        return tls
    }

    /// A client without a certificate.
    func anonymousTLS() throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.rootPEM.utf8)))
        tls.certificateVerification = .noHostnameVerification
        return tls
    }

    /// - Parameters:
    ///   - tls: a valid provider certificate by default.
    ///   - limit: the number of bytes after which the client stops reading.
    ///   - closes: whether the client closes its side after the service has closed its own.
    func connect(
        _ service: Service = .binary,
        _ tls: TLSConfiguration? = nil,
        limit: Int = .max,
        closes: Bool = true,
    ) async throws -> LegacyClient {
        let listener = service == .binary ? binary : feedback
        let port = try Self.required(listener.localAddress?.port)
        let configuration = if let tls { tls } else { try await self.tls() }
        return try await LegacyClient.connect(port: port, tls: configuration, limit: limit, closes: closes)
    }

    /// Revokes all provider certificates issued so far.
    func revokeEverything() async throws {
        for serial in issued.serials {
            _ = try await store.apply(.revokeCertificate(serial, at: clock.now))
        }
    }

    /// The address for connections without TLS.
    var binaryAddress: SocketAddress { get throws { try Self.required(binary.localAddress) } }
}

// MARK: - Devices

extension BinaryRig {
    func destination(_ device: UInt64 = 1) -> Destination {
        Destination(environment: environment, device: DeviceID(rawValue: device), app: app.id)
    }

    /// Registers the app on a device.
    /// - Returns: the bytes of the device token.
    func register(_ device: UInt64 = 1) async throws -> [UInt8] {
        let registration = try await store.register(destination(device), tokenKeyID: 1, at: clock.now)
        return try token(device, generation: registration.generation)
    }

    func token(_ device: UInt64 = 1, app: AppID? = nil, generation: UInt32 = 1) throws -> [UInt8] {
        let contents = DeviceTokenContents(
            device: DeviceID(rawValue: device), app: app ?? self.app.id, generation: generation)
        return try tokenKeys.current.seal(contents, environment: environment).array
    }

    /// Removes the app from the device.
    func unregister(_ device: UInt64 = 1) async throws {
        _ = try await store.end(destination(device), at: clock.now)
    }

    /// Connects the device.
    /// - Parameter eventLoop: acknowledges on this event loop; nil for a task.
    func online(_ device: UInt64 = 1, on eventLoop: (any EventLoop)? = nil) -> RecordingDevice {
        let key = destination(device).deviceKey
        let stream = RecordingDevice(key, on: switchboard, eventLoop: eventLoop)
        switchboard.attach(stream, of: key, power: .low)
        return stream
    }

    /// The texts of the notifications in the device's mailbox.
    func mailbox(_ device: UInt64 = 1) async throws -> [String] {
        try await store.entries(of: destination(device).deviceKey).map(\.entry.notification.text)
    }
}

extension BinaryRig {
    static func bundleID(_ text: String) throws -> BundleID { try required(BundleID(rawValue: text)) }

    static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw MissingValue() }
        return value
    }

    private struct MissingValue: Error {}
}

/// The real time plus what a test has added.
final class TestClock: Sendable {
    private let shift = Mutex(Duration.zero)

    var now: Timestamp {
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1000))
        return Timestamp(milliseconds: milliseconds).advanced(by: shift.withLock { $0 })
    }

    /// The time of both clocks.
    var moment: Moment {
        let time = now
        return Moment(time: time, uptime: Uptime(nanoseconds: time.nanoseconds))
    }

    func advance(by duration: Duration) { shift.withLock { $0 += duration } }
}

/// The exceeded limits, for tests that wait for one.
final class ExceededLimits: Sendable {
    private let all = Mutex<[Limit]>([])
    private let news = AsyncStream.makeStream(of: Limit.self)

    var limits: [Limit] { all.withLock { $0 } }

    func record(_ limit: Limit) {
        all.withLock { $0.append(limit) }
        news.continuation.yield(limit)
    }

    func wait(for limit: Limit) async { _ = await news.stream.first { $0 == limit } }
}

/// The certificates that a test has issued.
final class IssuedSerials: Sendable {
    private let all = Mutex<[CertificateSerial]>([])

    var serials: [CertificateSerial] { all.withLock { $0 } }
    func record(_ serial: CertificateSerial) { all.withLock { $0.append(serial) } }
}
