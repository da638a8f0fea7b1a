import CFaultyDisk
import Crypto
import Delivery
import Foundation
import GRDB
import NIOCore
import Management
import Notifications
import ProviderAPI
import Rates
import SQLiteStore
import Testing

import Service

/// Makes the service give the reasons that need more than a faulty request, over the network.
enum RejectionSituation {
    static let reasons: [Rejection.Reason] = [
        .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyInToken, .forbidden, .idleTimeout,
        .internalServerError, .serviceUnavailable, .shutdown, .tooManyProviderTokenUpdates, .tooManyRequests,
        .unrelatedKeyIDInToken,
    ]

    /// Runs a service and makes it reject a request with this reason.
    /// - Parameter id: the request's `apns-id`.
    static func provoke(
        _ reason: Rejection.Reason, in environment: Environment, id: String,
        _ body: (TestService, WireClient, WireClient.Answer) async throws -> Void,
    ) async throws {
        switch reason {
        case .internalServerError:
            try await withDamagedStore(in: environment) { test, token in
                let client = try await test.connectProvider()
                try await body(test, client, try await client.send(test.headers(token, id: id).fields))
            }
        case .serviceUnavailable:
            try await withFullDisk(in: environment) { test, token in
                let client = try await test.connectProvider()
                try await body(test, client, try await client.send(test.headers(token, id: id).fields))
            }
        default:
            try await TestService.run(environment: environment) {
                prepare(&$0, for: reason)
            } _: { test in
                let client = try await test.connectProvider()
                try await body(test, client, try await test.provoke(reason, on: client, id: id))
                await client.close()
            }
        }
    }

    private static func prepare(_ settings: inout Settings, for reason: Rejection.Reason) {
        switch reason {
        case .badEnvironmentKeyInToken: settings.environmentKeyReason = .seen
        case .idleTimeout: settings.provider.requestTimeout = .seconds(2)
        case .shutdown: settings.shutdownTimeout = .milliseconds(300)
        case .tooManyRequests: settings.delivery.requestsPerDeviceToken = Rate(burst: 1, perSecond: 0.001)
        default: break
        }
    }

    /// Runs a service with a database whose mailboxes are damaged.
    static func withDamagedStore(
        in environment: Environment = .development,
        _ body: (TestService, _ deviceToken: String) async throws -> Void,
    ) async throws {
        try await withDamagedStore(in: environment, table: "mailbox", { try await $0.makeDeviceToken() }, body)
    }

    /// Runs a service, damages a table of its database, and runs it again.
    static func withDamagedStore<Kept: Sendable>(
        in environment: Environment = .development,
        table: String,
        _ prepare: (TestService) async throws -> Kept,
        _ body: (TestService, Kept) async throws -> Void,
    ) async throws {
        try await TestService.runTwice(environment: environment) {
            try await prepare($0)
        } between: { folder, _ in
            let path = folder + "/" + SQLiteStore.fileName
            let database = try DatabaseQueue(path: path)
            let (page, bytes) = try database.read { database in
                let page = try Int.fetchOne(
                    database, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
                return (try required(page), try required(Int.fetchOne(database, sql: "PRAGMA page_size")))
            }
            try database.close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.seek(toOffset: UInt64((page - 1) * bytes))
            try file.write(contentsOf: [UInt8](repeating: 0xff, count: bytes))
            try file.close()
        } _: {
            try await body($0, $1)
        }
    }

    /// Runs a service whose disk becomes full after a device has registered.
    static func withFullDisk(
        in environment: Environment = .development,
        _ body: (TestService, _ deviceToken: String) async throws -> Void,
    ) async throws {
        try await withFaultyDisk(in: environment) { test, disk in
            let token = try await test.makeDeviceToken()
            faulty_disk_set(disk, FAULTY_DISK_FULL)
            try await body(test, token)
        }
    }

    /// Runs a service on a disk that fails on request.
    static func withFaultyDisk(
        in environment: Environment = .development,
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService, _ disk: Int32) async throws -> Void,
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try #require(faulty_disk_install() == 0)
        let disk = faulty_disk_add(folder.path)
        try #require(disk >= 0)
        try await TestService.run(environment: environment) {
            $0.dataFolder = folder.path
            change(&$0)
        } _: { test in
            // Repair the disk, so that the service can end in an orderly way even if the test fails.
            defer { faulty_disk_set(disk, FAULTY_DISK_NONE) }
            try await body(test, disk)
        }
    }
}

extension TestService {
    /// The headers of a valid request of the development team.
    func headers(_ deviceToken: String, id: String) throws -> ProviderHeaders {
        ProviderHeaders(deviceToken, token: try providerToken()).adding("apns-id", id)
    }

    /// Makes a request that is rejected with this reason.
    fileprivate func provoke(
        _ reason: Rejection.Reason, on client: WireClient, id: String,
    ) async throws -> WireClient.Answer {
        switch reason {
        case .badCertificate, .badCertificateEnvironment, .forbidden:
            return try await provokeWithCertificate(reason, id: id)
        case .unrelatedKeyIDInToken, .badEnvironmentKeyInToken, .tooManyProviderTokenUpdates:
            return try await provokeWithToken(reason, on: client, id: id)
        case .tooManyRequests:
            let headers = try headers(try await makeDeviceToken(), id: id).fields
            _ = try await client.send(headers)
            return try await client.send(headers)
        case .idleTimeout, .shutdown:
            let headers = try headers("00", id: id).fields
            _ = try await client.send(headers)
            try await client.announced(1000)
            let began = try await client.begin(headers)
            if reason == .shutdown { stop() }
            return try await began.answer()
        default:
            throw NoSituation(reason: reason)
        }
    }

    private func provokeWithCertificate(_ reason: Rejection.Reason, id: String) async throws -> WireClient.Answer {
        let isOther = reason == .badCertificateEnvironment
        let other: Environment = environment == .development ? .production : .development
        let certificate = try await makeCertificate(isOther ? other.rawValue : "universal")
        let token = try await makeDeviceToken()
        let headers = try headers(token, id: id).with("authorization", nil)
        let client = try await connectProvider(certificate)
        switch reason {
        case .badCertificate:
            let began = try await client.begin(headers.fields)
            try await revoke(certificate)
            return try await began.finish()
        case .forbidden:
            // The certificate lists the topic as a service of its app, but here it is the bundle ID of another app.
            let topic = "com.example.app.complication"
            try await createApp(topic)
            let answer = try await client.send(headers.with("apns-topic", topic).fields)
            await client.close()
            return answer
        default:
            return try await client.send(headers.fields)
        }
    }

    private func provokeWithToken(
        _ reason: Rejection.Reason, on client: WireClient, id: String,
    ) async throws -> WireClient.Answer {
        let headers = try headers(try await makeDeviceToken(), id: id)
        let now = Date()
        func with(_ token: String) -> [(String, String)] { headers.with("authorization", "bearer \(token)").fields }
        switch reason {
        case .tooManyProviderTokenUpdates:
            for age in [0, 60] as [Double] {
                _ = try await client.send(with(try providerToken(issuedAt: now - age)))
            }
            return try await client.send(with(try providerToken(issuedAt: now - 120)))
        case .unrelatedKeyIDInToken:
            _ = try await client.send(with(try providerToken()))
            return try await client.send(with(try await limitedToken(bundleIDs: ["com.example.app"])))
        default:
            let other: Environment = environment == .development ? .production : .development
            return try await client.send(with(try await limitedToken(environment: other)))
        }
    }

    struct NoSituation: Error {
        let reason: Rejection.Reason
    }
}
