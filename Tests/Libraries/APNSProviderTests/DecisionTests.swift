import CommonTesting
import Connections
import NIOCore
import Notifications
import Testing

@testable import APNSProvider

/// Decisions that need neither network nor clock.
struct DecisionTests {
    private static let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    // MARK: Delays

    @Test func `The first delay is below a second`() {
        #expect(GrowingDelay.sending.delay(afterFailures: 1, random: 1) < .seconds(1))
    }

    @Test(arguments: [
        (Duration.seconds(Int64.max), TimeAmount.hours(720)), (.seconds(Int64.min), .zero), (.seconds(5), .seconds(5)),
    ])
    func `Times are bounded`(_ duration: Duration, _ expected: TimeAmount) {
        #expect(TimeAmount(bounding: duration) == expected)
    }

    // MARK: Trying again

    private func allowance(
        deadline: TimeAmount = .seconds(30),
        retries: Bool = true,
        renewsTokens: Bool = false,
        attempts: Int = 1,
        renewals: Int = 0,
    ) -> RetryDecision.Allowance {
        RetryDecision.Allowance(
            deadline: Self.now + deadline, retriesRejections: retries, renewsTokens: renewsTokens, attempts: attempts,
            renewals: renewals)
    }

    private func decision(
        _ answer: PushAnswer, _ allowance: RetryDecision.Allowance? = nil,
    ) -> RetryDecision.AfterAnswer {
        RetryDecision.AfterAnswer(answer, allowance ?? self.allowance(), at: Self.now, random: 1)
    }

    private func afterRefusal(
        isByGoAway: Bool, _ allowance: RetryDecision.Allowance? = nil,
    ) -> RetryDecision.AfterRefusal {
        RetryDecision.AfterRefusal(
            isByGoAway: isByGoAway, allowance ?? self.allowance(), at: Self.now, random: 1)
    }

    private func answer(_ reason: Rejection.Reason) -> PushAnswer {
        PushAnswer(status: reason.status, reason: reason.rawValue)
    }

    @Test(arguments: Rejection.Reason.allCases) func `The table decides`(_ reason: Rejection.Reason) {
        let decision = decision(answer(reason))
        switch reason.row.advice {
        case .retryLater, .reconnect: #expect(decision == .again(at: Self.now + .milliseconds(800)))
        case .renewProviderToken: #expect(decision == .withNewToken)
        case .fixRequest, .forgetDeviceToken, .fixCredentials: #expect(decision == .finish)
        }
    }

    @Test func `Success is the end`() {
        #expect(decision(PushAnswer(status: 200)) == .finish)
    }

    @Test func `A delay beyond the deadline is not waited for`() {
        #expect(decision(answer(.tooManyRequests), allowance(deadline: .milliseconds(800))) == .finish)
        #expect(afterRefusal(isByGoAway: false, allowance(deadline: .milliseconds(800))) == .finish)
    }

    @Test func `The service's own delay is kept`() {
        var answer = PushAnswer(status: 429, reason: "TooManyRequests")
        answer.retryAfter = 5
        #expect(decision(answer) == .again(at: Self.now + .seconds(5)))
        answer.retryAfter = .max
        #expect(decision(answer) == .finish)
    }

    @Test func `Each attempt waits longer`() {
        #expect(afterRefusal(isByGoAway: false, allowance(attempts: 2)) == .again(at: Self.now + .milliseconds(1_600)))
    }

    @Test func `A second new token is not made for one request`() {
        #expect(decision(answer(.expiredProviderToken), allowance(renewals: 1)) == .finish)
    }

    @Test func `What was not processed goes elsewhere at once`() {
        #expect(afterRefusal(isByGoAway: true) == .elsewhere)
        #expect(afterRefusal(isByGoAway: true, allowance(deadline: .nanoseconds(0))) == .finish)
    }

    @Test func `Who wants the answer as it is gets it`() {
        #expect(decision(answer(.tooManyRequests), allowance(retries: false)) == .finish)
        #expect(decision(answer(.expiredProviderToken), allowance(retries: false)) == .finish)
        let renewing = allowance(retries: false, renewsTokens: true)
        #expect(decision(answer(.tooManyRequests), renewing) == .finish)
        #expect(decision(answer(.expiredProviderToken), renewing) == .withNewToken)
    }

    @Test(arguments: [(429, true), (500, true), (599, true), (400, false), (403, false), (410, false), (418, false)])
    func `A reason that is not known goes by its status`(_ status: Int, _ isTriedAgain: Bool) {
        let decision = decision(PushAnswer(status: status, reason: "New"))
        #expect((decision != .finish) == isTriedAgain)
    }

    // MARK: Clocks

    @Test func `A rejected provider token says what the clocks have to do with it`() {
        func text(_ reason: String, _ difference: Int64?) -> String {
            var answer = PushAnswer(status: 403, reason: reason)
            answer.clockDifference = difference
            return PushRejection(answer).description
        }
        #expect(
            text("ExpiredProviderToken", -3_660).hasSuffix(
                "This machine's clock is 61 minutes behind the service's: set it."))
        #expect(text("ExpiredProviderToken", nil).contains("compare it with another"))
        #expect(text("ExpiredProviderToken", 5).contains("agree"))
        #expect(
            text("InvalidProviderToken", 90_000).hasSuffix(
                "This machine's clock is 25 hours ahead of the service's: set it."))
        #expect(!text("InvalidProviderToken", nil).contains("clock"))
        #expect(!text("Forbidden", -3_660).contains("clock"))
    }

    // MARK: Reasons

    /// Apple's page has the first spelling; the real service was seen to send the second.
    @Test func `Both spellings are the same reason`() {
        let spellings = ["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken"]
        for spelling in spellings {
            let rejection = PushRejection(PushAnswer(status: 403, reason: spelling))
            #expect(rejection.reason == .badEnvironmentKeyIDInToken)
            #expect(rejection.reason.rawValue == spelling)
            #expect(rejection.advice == .fixCredentials)
            #expect(TokenVerdict(PushAnswer(status: 403, reason: spelling)) == .refused)
            #expect(rejection.description.contains("for the other environment"))
        }
        #expect(Set(spellings.map(PushRejection.Reason.init)).count == 1)
        #expect(PushRejection.Reason(rawValue: "BadTopic") != .badEnvironmentKeyIDInToken)
    }

    @Test func `A key that is not related takes another connection`() {
        #expect(PushRejection.Reason.unrelatedKeyIDInToken.advice == .reconnect)
        let answer = PushAnswer(status: 403, reason: "UnrelatedKeyIdInToken")
        #expect(TokenVerdict(answer) == .unrelated)
        var plan = ConnectionPlan(usesTokens: true, limits: ConnectionPlan.Limits())
        guard case .open(let id) = plan.open(at: Self.now) else { return #expect(Bool(false), "none is opened") }
        plan.announced(1_000, on: id)
        plan.answered(on: id, .unrelated)
        #expect(plan[id]?.phase == .leaving && plan.assignRequest(at: Self.now) == nil)
        #expect(plan.open(at: Self.now) == .open(id + 1))
    }

    // MARK: The feedback service

    @Test func `The list is read again after the interval and sooner after a failure`() {
        var timing = FeedbackTiming(interval: .seconds(86_400))
        #expect(timing.wait(hasFailed: false) == .seconds(86_400))
        let waits = (0..<8).map { _ in timing.wait(hasFailed: true) }
        #expect(waits == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map(Duration.seconds))
        #expect(timing.wait(hasFailed: false) == .seconds(86_400))
        #expect(timing.wait(hasFailed: true) == .seconds(60))
    }

    @Test func `An interval is a minute at least`() {
        var timing = FeedbackTiming(interval: .zero)
        #expect(timing.wait(hasFailed: false) == .seconds(60))
    }

    // MARK: Provider tokens

    private func decide(age: UInt64?, isEarly: Bool = false, rejected: Bool = false) -> ProviderTokenSchedule.Decision {
        let now: UInt64 = 1_000_000
        let stored = age.map { StoredProviderToken(token: "t", issuedAt: now - $0, isEarly: isEarly) }
        return ProviderTokenSchedule.decide(stored: stored, rejected: rejected ? "t" : "another", at: now)
    }

    @Test func `Without a token one is made`() {
        #expect(decide(age: nil) == .make(isEarly: false))
    }

    @Test func `A token is used for forty minutes`() {
        let stored = StoredProviderToken(token: "t", issuedAt: 1_000_000 - 2_399)
        #expect(decide(age: 2_399) == .use(stored))
        #expect(decide(age: 2_400) == .make(isEarly: false))
    }

    @Test func `Renewal lies between twenty and sixty minutes`() {
        #expect(ProviderTokenSchedule.renewAfter >= ProviderTokenSchedule.leastInterval)
        #expect(ProviderTokenSchedule.renewAfter <= ProviderTokenSchedule.life)
    }

    @Test func `A token from the future is made anew`() {
        let stored = StoredProviderToken(token: "t", issuedAt: 1_000_001)
        #expect(ProviderTokenSchedule.decide(stored: stored, rejected: nil, at: 1_000_000) == .make(isEarly: false))
    }

    @Test func `A rejected token is replaced at once`() {
        #expect(decide(age: 1_300, rejected: true) == .make(isEarly: false))
        #expect(decide(age: 10, rejected: true) == .make(isEarly: true))
    }

    @Test func `What another has replaced already is used`() {
        let stored = StoredProviderToken(token: "t", issuedAt: 1_000_000 - 10)
        #expect(ProviderTokenSchedule.decide(stored: stored, rejected: "old", at: 1_000_000) == .use(stored))
    }

    @Test func `Two in a row is one too many`() {
        #expect(decide(age: 10, isEarly: true, rejected: true) == .giveUp)
        #expect(decide(age: 1_200, isEarly: true, rejected: true) == .make(isEarly: false))
    }

    // MARK: Addresses

    @Test func `The address with the fewest connections comes first`() throws {
        let addresses = try (1...3).map { try SocketAddress(ipAddress: "192.0.2.\($0)", port: 443) }
        var generator = SeededGenerator.random()
        let order = ConnectionOpener.order(
            addresses + addresses, inUse: [addresses[0], addresses[0], addresses[2]], using: &generator)
        #expect(order == [addresses[1], addresses[2], addresses[0]])
    }
}
