import CommonTesting
import Crypto
import Foundation
import Notifications
import Storage
import Synchronization
import Testing

@testable import CampaignStore
@testable import ProviderServer
@testable import ServiceTesting

/// What one message does when a request, the store or another server comes between.
@Suite(.timeLimit(.minutes(3))) struct MessageRunTests {
    /// A server's parts, with one app and one message that is due.
    private struct Setting {
        var store: WatchedStore
        let vault = CredentialVault(key: SymmetricKey(size: .bits256))
        let app: ProviderApp
        let message: MessageRecord

        /// - Parameter document: the app's.
        static func with(_ document: String = TestShop.other(), _ body: (Setting) async throws -> Void) async throws {
            try await TestProvider.withFolder { folder in
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                let base = try SQLiteCampaignStore(folder: folder, now: ProviderClock.system.now)
                try await withCleanUp {
                    try await body(try await Setting(base, document))
                } cleanUp: {
                    await base.close()
                }
            }
        }

        private init(_ base: SQLiteCampaignStore, _ document: String) async throws {
            store = WatchedStore(base: base)
            let value = try JSONDecoder().decode(JSONValue.self, from: Data(document.utf8))
            let new = try AppDocument(value).app(
                bundleID: TestShop.bundleID, known: nil, clientKey: [1], serverKey: [2], vault)
            app = try await base.changeApp(TestShop.bundleID) { _ in new }
            let now = ProviderClock.system.now()
            message = try await base.add(
                MessageRecord(
                    id: "m", app: app.number, state: .scheduled,
                    document: Array(#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#.utf8),
                    created: now, starts: now, rate: nil), idempotency: nil, limit: 1)
        }

        func clients() -> ProviderClients {
            ProviderClients(vault, deadline: .seconds(5), logger: TestProvider.silentLogger)
        }

        /// Begins the message, and waits until it is not sent any more.
        func send(_ made: (CampaignScheduler) -> Void = { _ in }) async throws {
            let clients = clients()
            let scheduler = CampaignScheduler(
                store, try await AppDirectory(store), clients, clock: CampaignTroubleTests.impatient,
                deadline: .seconds(5), logger: TestProvider.silentLogger, noted: {})
            made(scheduler)
            await scheduler.runDue()
            await scheduler.finished()
            await scheduler.close()
            await clients.shutDown()
        }
    }

    /// A value that closures share.
    private final class Shared<Value: Sendable>: Sendable {
        private let state: Mutex<Value>
        init(_ value: Value) { state = Mutex(value) }
        var value: Value {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test func `An audience that takes too long to find pauses the message`() async throws {
        try await Setting.with { known in
            var setting = known
            let reads = Shared(0)
            setting.store.reads = { _ throws(StoreError) in
                reads.value += 1
                throw .tookTooLong
            }
            try await setting.send()
            let message = try #require(try await setting.store.message("m"))
            #expect(message.state == .paused && message.cause?.contains("took too long") == true)
            #expect(reads.value == ProviderServerLimits.slowReads)
        }
    }

    @Test func `A message that is paused while it begins is sent to nobody`() async throws {
        try await Setting.with { known in
            var setting = known
            let (reads, scheduler) = (Shared(0), Shared<CampaignScheduler?>(nil))
            setting.store.reads = { _ throws(StoreError) in reads.value += 1 }
            setting.store.changed = { [base = known.store.base] message in
                // The request comes after the scheduler has read that the message may be sent.
                guard message.state == .running else { return }
                _ = try await base.changeMessage(message.id) { message in
                    message.state = .paused
                    return nil
                }
                await scheduler.value?.stop(message.id)
            }
            try await setting.send { scheduler.value = $0 }
            #expect(reads.value == 0)
            #expect(try await setting.store.message("m")?.state == .paused)
        }
    }
}
