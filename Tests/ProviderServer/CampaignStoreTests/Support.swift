import CampaignStore
import CommonTesting
import Foundation
import Notifications
import Storage
import Testing

#if PostgreSQL
    import PostgresClient
    import PostgresCampaignStore
    import PostgresSupport
    import PostgresTesting
#endif

/// The stores that keep the same promises.
enum StoreKind: Sendable {
    case sqlite
    #if PostgreSQL
        case postgresql
    #endif

    static var allCases: [StoreKind] {
        #if PostgreSQL
            // PostgreSQL is another program.
            if !TestRun.isFast { return [.sqlite, .postgresql] }
        #endif
        return [.sqlite]
    }

    /// Calls `body` with an empty store.
    func with(
        waitingDeliveries: Int64 = HookDelivery.waitingDeliveries,
        _ body: (any CampaignStore) async throws -> Void,
    ) async throws {
        switch self {
        case .sqlite:
            try await withTemporaryPath { folder in
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                let store = try SQLiteCampaignStore(
                    folder: folder, now: { Sample.now }, waitingDeliveries: waitingDeliveries)
                try await Self.use(store, body)
            }
        #if PostgreSQL
            case .postgresql:
                let location = try await TestServer.makeDatabase()
                try await Self.use(try await Self.open(location, waitingDeliveries: waitingDeliveries), body)
        #endif
        }
    }

    private static func use(_ store: any CampaignStore, _ body: (any CampaignStore) async throws -> Void) async throws {
        try await withCleanUp {
            try await body(store)
        } cleanUp: {
            await store.close()
        }
    }

    #if PostgreSQL
        /// - Parameter key: the digit that the store key consists of.
        static func open(
            _ location: PostgresLocation,
            identity: UInt8 = 1,
            key: String = "a",
            waitingDeliveries: Int64 = HookDelivery.waitingDeliveries,
            uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        ) async throws -> PostgresCampaignStore {
            var configuration = PostgresCampaignStore.Configuration(
                location: location, storeKey: try #require(StoreKey(hexadecimal: String(repeating: key, count: 64))),
                identity: [identity], now: { Sample.present })
            // Many tests share the server.
            configuration.writers = 2
            configuration.readers = 1
            configuration.waitingDeliveries = waitingDeliveries
            configuration.uptime = uptime
            configuration.limits.timeLimit = .seconds(60)
            return try await PostgresCampaignStore.open(configuration)
        }
    #endif
}

/// Values that tests store.
enum Sample {
    /// The machine's time: a PostgreSQL store compares it with the server's.
    static var present: Timestamp { Timestamp(milliseconds: UInt64(Date().timeIntervalSince1970 * 1000)) }
    static let now = Timestamp(milliseconds: 1_800_000_000_000)

    static func app(_ bundleID: String = "com.example.shop") -> ProviderApp {
        ProviderApp(
            bundleID: bundleID, teamID: "ABCDE12345",
            endpoints: [
                .development: ProviderApp.Endpoint(
                    url: "https://127.0.0.1:2197", authority: "PEM", sealedCredentials: [0, 1, 255],
                    credentials: .key(keyID: "KEY1234567"))
            ],
            clientKeyDigest: [1, 2], serverKeyDigest: [3, 4], acceptsClaimedUsers: true)
    }

    static func installation(
        _ id: String,
        token: String? = nil,
        _ change: (inout Installation) -> Void = { _ in },
    ) -> Installation {
        let digits = token ?? id.utf8.map { String(format: "%02x", $0) }.joined()
        var installation = Installation(id: id, deviceToken: digits, environment: .development, registered: now)
        change(&installation)
        return installation
    }

    static func message(_ id: String, app: Int64, rate: Int64? = nil) -> MessageRecord {
        MessageRecord(
            id: id, app: app, state: .running, document: Array("{\"é\":0}".utf8), created: now, starts: now, rate: rate)
    }

    static func accepted(_ installation: Int64) -> SendOutcome {
        SendOutcome(installation: installation, status: 200, reason: nil, at: now)
    }

    static func ended(_ installation: Int64, at endedAt: Timestamp) -> SendOutcome {
        SendOutcome(installation: installation, status: 410, reason: "Unregistered", at: now, endedAt: endedAt)
    }

    static func event(_ ended: [EndedInstallation]) -> ProviderEvent {
        ProviderEvent(kind: "installations.ended", body: Array(ended.map(\.id).sorted().joined(separator: ",").utf8))
    }
}

extension CampaignStore {
    /// Adds an app, or replaces the app with the same bundle ID.
    func put(_ app: ProviderApp) async throws -> ProviderApp { try await changeApp(app.bundleID) { _ in app } }

    /// Adds a message without a limit.
    func add(_ message: MessageRecord, idempotency: IdempotencyKey?) async throws(StoreError) -> MessageRecord {
        try await add(message, idempotency: idempotency, limit: .max)
    }

    func put(_ installation: Installation, app: Int64, secret: [UInt8]? = nil) async throws {
        _ = try await changeInstallation(installation.id, app: app) { _ in
            .put(StoredInstallation(installation, secretDigest: secret))
        }
    }

    /// The bodies of the events that have not arrived.
    func openEvents() async throws -> [String] {
        var bodies: [String] = []
        for delivery in try await openDeliveries(limit: 10) {
            let body = try #require(try await hold(delivery, for: .seconds(60)))
            bodies.append(String(decoding: body, as: UTF8.self))
        }
        return bodies
    }

    func numbers(app: Int64) async throws -> [String: Int64] {
        Dictionary(
            try await installations(app: app, after: 0, limit: 1_000).map { ($0.installation.id, $0.number) },
            uniquingKeysWith: { $1 })
    }

    /// The identifiers of the recipients of an audience.
    func found(
        _ app: Int64, message: Int64 = 0, _ change: (inout RecipientQuery) -> Void = { _ in }
    ) async throws
        -> [String]
    {
        var query = RecipientQuery(app: app, message: message, audience: Audience())
        change(&query)
        let found = try await recipients(query, limit: 1_000).map(\.installation.id)
        #expect(try await count(query) == Int64(found.count))
        return found
    }
}
