import CampaignStore
import Notifications
import SQLSupport
import Storage
import Synchronization
import Testing

/// Outcomes that are stored after something else has changed.
@Suite("Late outcomes", .timeLimit(.minutes(3))) struct LateOutcomeContractTests {
    @Test(arguments: StoreKind.allCases)
    func `An installation moves only with the device token that the service accepted`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a0b"), app: app)
            let number = try #require(try await store.numbers(app: app)["a"])
            for (token, environment) in [("0a", Environment.development), ("0a0b", .production)] {
                let message = try await store.add(Sample.message("m\(token)", app: app), idempotency: nil)
                var outcome = Sample.accepted(number)
                (outcome.movedTo, outcome.movedToken) = (.production, token)
                _ = try await store.record([outcome], of: message, position: message.position, event: Sample.event)
                #expect(try await store.installation("a", app: app)?.installation.environment == environment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Outcomes that come after their app was deleted are not kept`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            try await store.deleteApp(app)
            let ended = try await store.record(
                [Sample.accepted(1)], of: message, position: message.position, event: Sample.event)
            #expect(ended == 0)
            #expect(try await store.outcomes(of: message.number, .all, after: 0, limit: 10).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `Outcomes that come in the middle of a deletion are deleted with their message`(
        _ kind: StoreKind, _ isOfApp: Bool
    ) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            var message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            message.state = .cancelled
            let cancelled = message
            _ = try await store.changeMessage(message.id) { stored in
                stored = cancelled
                return nil
            }
            let late = LateStore(try #require(store as? any SQLCampaignStore)) {
                _ = try await store.record(
                    [Sample.accepted(1)], of: cancelled, position: cancelled.position, event: Sample.event)
                #expect(try await store.outcomes(of: cancelled.number, .all, after: 0, limit: 10).count == 1)
            }
            if isOfApp { try await late.deleteApp(app) } else { try await late.deleteMessage(message.number) }
            #expect(try await store.message(message.id) == nil)
            #expect(try await store.outcomes(of: message.number, .all, after: 0, limit: 10).isEmpty)
        }
    }
}

/// A store that calls a test once, when a step of a deletion has found nothing more.
private struct LateStore: SQLCampaignStore {
    let database: any SQLDatabase
    let identity: [UInt8]?
    let now: @Sendable () -> Timestamp
    let waitingDeliveries: Int64

    init(_ base: any SQLCampaignStore, _ emptied: @escaping @Sendable () async throws -> Void) {
        database = LateDatabase(base.database, emptied)
        (identity, now, waitingDeliveries) = (base.identity, base.now, base.waitingDeliveries)
    }
}

private final class LateDatabase: SQLDatabase {
    private let base: any SQLDatabase
    private let emptied: @Sendable () async throws -> Void
    private let isCalled = Mutex(false)

    init(_ base: any SQLDatabase, _ emptied: @escaping @Sendable () async throws -> Void) {
        (self.base, self.emptied) = (base, emptied)
    }

    func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws -> Value,
    ) async throws(StoreError) -> [Value] { try await base.read(statement, value) }

    func write(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        let counts = try await base.write(statements)
        let isFirst = isCalled.withLock { isCalled in
            defer { isCalled = isCalled || counts == [0] }
            return counts == [0] && !isCalled
        }
        guard isFirst else { return counts }
        do { try await emptied() } catch { throw StoreError(.unavailable, "\(error)") }
        return counts
    }

    func transact<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws -> Value { try await base.transact(body) }

    func trouble() async -> StoreError? { await base.trouble() }
    func close() async { await base.close() }
}
