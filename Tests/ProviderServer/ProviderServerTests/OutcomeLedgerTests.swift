import CampaignStore
import Foundation
import Notifications
import Storage
import Synchronization
import Testing

@testable import APNSProvider
@testable import ProviderServer

/// When a message's position moves on, and what is kept if the store fails.
struct OutcomeLedgerTests {
    /// A store that remembers what it gets, and fails as often as it is told.
    private final class Records: Sendable {
        struct State {
            var failures: Int
            var numbers: [Int64] = []
            var positions: [Int64] = []
        }

        let state: Mutex<State>

        init(failures: Int = 0) { state = Mutex(State(failures: failures)) }

        func record(_ outcomes: [SendOutcome], _ position: MessageRecord.Position) throws(StoreError) -> Int {
            let isTaken = state.withLock { state in
                state.failures -= 1
                guard state.failures < 0 else { return false }
                state.numbers += outcomes.map(\.installation)
                state.positions.append(position.after)
                return true
            }
            guard isTaken else { throw StoreError(.unavailable, "The disk is full.") }
            return 0
        }
    }

    private static let now = Timestamp(milliseconds: 1)

    private static func ledger(_ records: Records, isLastPass: Bool = false) -> OutcomeLedger {
        OutcomeLedger(
            from: MessageRecord.Position(), isLastPass: isLastPass, clock: .system, bundleID: "com.example.app",
            record: { outcomes, position throws(StoreError) in try records.record(outcomes, position) }, ended: {})
    }

    private static func recipient(_ number: Int64) -> Recipient {
        let installation = Installation(
            id: "i\(number)", deviceToken: "00", environment: .development, registered: now)
        return Recipient(number: number, installation: installation)
    }

    private static func name(_ number: Int64) -> UUID { NotificationName.make(message: "m", installation: number) }

    private static let accepted = Result<PushReceipt, ProviderError>.success(PushReceipt(apnsID: "", uniqueID: nil))

    private static func failure(_ code: ProviderError.Code) -> Result<PushReceipt, ProviderError> {
        .failure(ProviderError(code, "It failed."))
    }

    @Test func `The position stays before the first recipient without an outcome`() async {
        let records = Records()
        let ledger = Self.ledger(records)
        for number in [3, 5, 8] as [Int64] { ledger.began(Self.recipient(number), as: Self.name(number)) }
        ledger.add(Self.name(8), Self.accepted)
        #expect(await ledger.write() == nil)
        ledger.add(Self.name(3), Self.accepted)
        #expect(await ledger.write() == nil)
        ledger.failed(Self.recipient(9), "MissingValue: x")
        ledger.add(Self.name(5), Self.accepted)
        #expect(await ledger.write() == nil)
        #expect(records.state.withLock(\.positions) == [2, 4, 9])
        #expect(records.state.withLock(\.numbers) == [8, 3, 9, 5])
        #expect(ledger.result.cause == nil && ledger.result.isCounted)
    }

    @Test func `Whoever has to be tried again holds the position, and has no outcome`() async {
        let records = Records()
        let ledger = Self.ledger(records)
        for number in [3, 5] as [Int64] { ledger.began(Self.recipient(number), as: Self.name(number)) }
        ledger.add(Self.name(3), Self.failure(.cannotConnect))
        ledger.add(Self.name(5), Self.accepted)
        #expect(await ledger.write() == nil)
        #expect(records.state.withLock(\.positions) == [2] && records.state.withLock(\.numbers) == [5])
        #expect(ledger.result.cause == "It failed.")
    }

    @Test func `In the last pass one is sent at a time`() {
        for isLastPass in [false, true] {
            let ledger = Self.ledger(Records(), isLastPass: isLastPass)
            #expect(ledger.verdict == .goOn)
            ledger.began(Self.recipient(1), as: Self.name(1))
            #expect(ledger.verdict == (isLastPass ? .wait : .goOn))
            ledger.add(Self.name(1), Self.failure(.connectionLost))
            #expect(ledger.verdict == .goOn)
        }
    }

    @Test func `A pass in which few fail counts, and one in which many fail does not`() {
        let ledger = Self.ledger(Records())
        for number in 1...Int64(ProviderServerLimits.failuresInARow) {
            #expect(ledger.result.isCounted)
            ledger.began(Self.recipient(number), as: Self.name(number))
            ledger.add(Self.name(number), Self.failure(.deadlineExceeded))
        }
        #expect(!ledger.result.isCounted)
    }

    @Test(arguments: [
        ("TooManyRequests", SendVerdict.final(status: 429, reason: "TooManyRequests", endedAt: nil)),
        ("TooManyProviderTokenUpdates", nil),
    ])
    func `Only a 429 about the device token is an outcome`(_ reason: String, _ verdict: SendVerdict?) {
        let rejection = PushRejection(PushAnswer(status: 429, reason: reason))
        let expected = verdict ?? .refused(cause: rejection.description)
        #expect(SendVerdict(.failure(ProviderError(rejection)), isLastPass: false) == expected)
    }

    @Test(arguments: Rejection.Reason.allCases, [false, true])
    func `Only what is about the notification is a recipient's failure`(_ reason: Rejection.Reason, isLastPass: Bool) {
        let rejection = PushRejection(PushAnswer(status: reason.status, reason: reason.rawValue))
        let verdict = SendVerdict(.failure(ProviderError(rejection)), isLastPass: isLastPass)
        switch reason.row.subject {
        case .sender: #expect(verdict == .refused(cause: rejection.description))
        case .service where reason == .internalServerError:
            // One notification may be the cause.
            #expect((verdict == .again(cause: rejection.description)) == !isLastPass)
        case .service: #expect(verdict == .outage(cause: rejection.description))
        case .notification:
            #expect(verdict == .final(status: reason.status, reason: reason.rawValue, endedAt: nil))
        }
    }

    @Test(arguments: [false, true])
    func `An answer that is not a push service's is an outage`(isLastPass: Bool) {
        for status in [200, 302, 404, 502] {
            let error = PushAnswer(status: status).error
            #expect(SendVerdict(.failure(error), isLastPass: isLastPass) == .outage(cause: error.cause))
        }
    }

    @Test func `A pass in an outage does not count, however few fail in it`() {
        let ledger = Self.ledger(Records())
        for number in [1, 2] as [Int64] { ledger.began(Self.recipient(number), as: Self.name(number)) }
        ledger.add(Self.name(1), Self.failure(.deadlineExceeded))
        #expect(ledger.result.isCounted)
        ledger.add(Self.name(2), Self.failure(.unexpectedAnswer))
        #expect(!ledger.result.isCounted && ledger.result.cause == "It failed.")
    }

    /// The number comes from another server, and the message is resumed after each start.
    @Test(arguments: [UInt64.max, UInt64.max - 1, UInt64(Int64.max), 0])
    func `Any timestamp of a 410 is an end`(_ timestamp: UInt64) {
        let rejection = PushRejection(PushAnswer(status: 410, reason: "Unregistered", timestamp: timestamp))
        let verdict = SendVerdict(.failure(ProviderError(rejection)), isLastPass: false)
        guard case .final(410, "Unregistered", let ended?) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        // A date has 53 bits, so a moment in the far future is not exact.
        #expect((ended.milliseconds == 0) == (timestamp == 0))
        #expect(timestamp < .max || ended.milliseconds == .max)
    }

    @Test func `A hold that has ended is not extended`() {
        let control = RunControl(rate: nil, clock: .system)
        let (now, later) = (ContinuousClock.now, ContinuousClock.now.advanced(by: .seconds(60)))
        control.hold(until: later)
        #expect(control.extendHold(until: later.advanced(by: .seconds(1))) && control.isHeld)
        control.hold(until: now)
        #expect(!control.extendHold(until: later) && !control.isHeld)
    }

    @Test func `What the store did not take is written again, and nothing is sent meanwhile`() async {
        let records = Records(failures: 2)
        let ledger = Self.ledger(records)
        for number in [1, 2] as [Int64] { ledger.began(Self.recipient(number), as: Self.name(number)) }
        ledger.add(Self.name(1), Self.accepted)
        #expect(ledger.verdict == .goOn)
        #expect(await ledger.write() != nil)
        #expect(ledger.verdict == .wait)
        ledger.add(Self.name(2), Self.accepted)
        #expect(await ledger.write() != nil)
        #expect(await ledger.write() == nil)
        #expect(ledger.verdict == .goOn)
        #expect(records.state.withLock(\.numbers) == [1, 2])
    }

    @Test func `A service that answers nobody stops the pass`() {
        let ledger = Self.ledger(Records())
        for number in 1...Int64(ProviderServerLimits.failuresInARow) {
            #expect(ledger.verdict == .goOn)
            ledger.began(Self.recipient(number), as: Self.name(number))
            ledger.add(Self.name(number), Self.failure(.cannotConnect))
        }
        #expect(ledger.verdict == .stop)
    }

    @Test func `Too much that waits for the disk holds sending back`() {
        let ledger = Self.ledger(Records())
        for number in 1...Int64(ProviderServerLimits.waitingOutcomes) { ledger.failed(Self.recipient(number), "x") }
        #expect(ledger.verdict == .wait)
    }

    @Test(arguments: [ProviderError.Code.connectionLost, .gaveUp, .deadlineExceeded, .cannotConnect])
    func `Only an attempt that may have been taken ends with the last pass`(_ code: ProviderError.Code) {
        let error = ProviderError(code, "It failed.", mayHaveBeenTaken: code == .connectionLost)
        let again = code == .cannotConnect ? SendVerdict.outage(cause: error.cause) : .again(cause: error.cause)
        #expect(SendVerdict(.failure(error), isLastPass: false) == again)
        let last = SendVerdict(.failure(error), isLastPass: true)
        #expect(last == (code == .connectionLost ? .final(status: 0, reason: "connectionLost", endedAt: nil) : again))
    }
}
