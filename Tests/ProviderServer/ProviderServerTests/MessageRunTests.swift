import CommonTesting
import Crypto
import Delivery
import Foundation
import Notifications
import Rates
import Service
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
            let new = try ProviderMessages.AppRequest(checking: value).app(
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
                deadline: .seconds(5), logger: TestProvider.silentLogger, onNewEvent: {})
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

    // MARK: The other environment

    /// Sends the message to recipients whose device tokens are bad in their own environment.
    /// - Parameters:
    ///   - rate: with a rate of one, a page has one recipient, and a second read looks for further ones.
    ///   - rules: what the service answers; by default one recipient's device token is good in the other environment.
    ///   - interrupt: called after the recipient was read, and before it is tried in the other environment.
    ///   - sleep: called when sending waits.
    /// - Returns: how sending ended, how many requests the service got, and the outcomes.
    private func sendElsewhere(
        recipients: Int = 1,
        rate: Int64? = 1,
        rules: String = #"{"when":{"first":1},\#(badDeviceToken)}"#,
        _ interrupt: @escaping @Sendable (RunControl) throws(StoreError) -> Void = { _ in },
        sleep: @escaping @Sendable (RunControl) -> Void = { _ in },
    ) async throws -> (end: MessageRun.End, requests: Int, outcomes: [KeptOutcome]) {
        let result = Shared<(end: MessageRun.End, requests: Int, outcomes: [KeptOutcome])?>(nil)
        try await TestService.run {
            $0.store = .memory
            $0.delivery.requestsPerDeviceToken = .unlimited
        } _: { carillon in
            let (document, tokens) = try await Self.makeBoth(carillon, recipients, rules)
            try await Setting.with(document) { known in
                var setting = known
                for token in tokens {
                    let installation = Installation(
                        id: token, deviceToken: token, environment: .development,
                        registered: ProviderClock.system.now())
                    _ = try await setting.store.changeInstallation(token, app: setting.app.number) { _ in
                        .put(StoredInstallation(installation, secretDigest: nil))
                    }
                }
                let control = Shared<RunControl?>(nil)
                let own = RunControl(
                    rate: rate,
                    clock: ProviderClock(now: ProviderClock.system.now) { _ in
                        if let own = control.value { sleep(own) }
                    })
                control.value = own
                setting.store.reads = { query throws(StoreError) in if query.after > 0 { try interrupt(own) } }
                let clients = setting.clients()
                var message = setting.message
                // After its first answers, bad device tokens do not pause a message.
                message.tally.accepted = Int64(ProviderServerLimits.firstAnswers)
                let run = MessageRun(
                    message: message, definition: try MessageDefinition(stored: message.document),
                    store: setting.store, apps: try await AppDirectory(setting.store), clients: clients, control: own,
                    clock: .system, logger: TestProvider.silentLogger, onNewEvent: {})
                let end = await run.run()
                await clients.shutDown()
                let requests = try await carillon.ask("GET", "/v1/requests?limit=1000")
                let list = try JSONDecoder().decode([JSONValue].self, from: requests.body)
                let outcomes = try await setting.store.outcomes(
                    of: message.number, .all, after: 0, limit: 1_000)
                result.value = (end, list.count, outcomes)
            }
        }
        return try #require(result.value)
    }

    private static let badDeviceToken = #""fault":{"answer":{"reason":"BadDeviceToken"}}"#

    /// - Returns: The document of an app whose environments are both this service, and device tokens. The production
    ///   environment has the name localhost, so that rules can be about it.
    private static func makeBoth(
        _ carillon: TestService,
        _ count: Int,
        _ rules: String,
    ) async throws -> (document: String, tokens: [String]) {
        let (text, tokens) = try await TestShop.makeFixture(carillon, Array(repeating: nil, count: count))
        guard case .object(var app) = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)),
            case .object(var environments)? = app["environments"],
            case .object(var production)? = environments["development"], case .string(let url)? = production["url"]
        else { return try #require(nil) }
        production["url"] = .string(url.replacing("127.0.0.1", with: "localhost"))
        environments["production"] = .object(production)
        app["environments"] = .object(environments)
        let answer = try await carillon.ask("POST", "/v1/rehearsals", body: #"{"seed":7,"rules":[\#(rules)]}"#)
        try #require(answer.status == 200, "\(answer.text)")
        return (JSONValue.object(app).text, tokens)
    }

    @Test func `Everybody is tried once in the other environment, also if it answers nobody`() async throws {
        let count = ProviderServerLimits.triedTogether + 1
        let silence = #"{"match":{"serverName":"localhost"},"fault":{"reset":"INTERNAL_ERROR"}}"#
        let (end, requests, outcomes) = try await sendElsewhere(
            recipients: count, rate: nil, rules: #"\#(silence),{\#(Self.badDeviceToken)}"#)
        #expect(end == .finished && requests == 2 * count)
        #expect(outcomes.count { $0.outcome.reason == "BadDeviceToken" } == count)
    }

    @Test func `Recipients are tried in the other environment also if no more can be found`() async throws {
        let (_, requests, outcomes) = try await sendElsewhere(rules: "{\(Self.badDeviceToken)}") {
            _ throws(StoreError) in throw .tookTooLong
        }
        #expect(requests == 2 && outcomes.map(\.outcome.reason) == ["BadDeviceToken"])
    }

    @Test func `Nobody is tried in the other environment while another server may hold the message`() async throws {
        let waits = Shared(0)
        let (end, requests, outcomes) = try await sendElsewhere {
            $0.hold(until: .now)
        } sleep: { control in
            waits.value += 1
            control.hold(until: .now + .seconds(60))
        }
        #expect(waits.value == 1)
        #expect(end == .finished && requests == 2 && outcomes.map(\.outcome.reason) == [nil])
    }

    @Test func `Nobody is tried in the other environment after the message was stopped`() async throws {
        let (end, requests, outcomes) = try await sendElsewhere { $0.stop() }
        #expect(end == .stopped && requests == 1 && outcomes.isEmpty)
    }
}
