import Notifications
import Synchronization
import Testing

@testable import Delivery

@Suite("The service's clock")
struct ServiceClockTests {
    /// The machine's clock, in seconds since 1970.
    private final class Machine: Sendable {
        private let seconds = Mutex<UInt64>(1_000_000)

        func set(_ value: UInt64) { seconds.withLock { $0 = value } }

        func clock(isVirtual: Bool = true) -> ServiceClock {
            ServiceClock(isVirtual: isVirtual) {
                let now = self.seconds.withLock { $0 }
                return Moment(time: Timestamp(seconds: now), uptime: Uptime(nanoseconds: now * 1_000_000_000))
            }
        }
    }

    private static func seconds(_ value: UInt64) -> Timestamp { Timestamp(seconds: value) }

    private static let app = AppID(rawValue: 1)

    @Test func `The system's clock is the machine's and cannot be advanced`() {
        let clock = Machine().clock(isVirtual: false)
        #expect(throws: ServiceClock.AdvanceError.isSystem) { try clock.advance(by: .seconds(1)) }
        #expect(clock.time == clock.machineTime)
        #expect(!clock.isAdvanced)
    }

    @Test func `An advance is added to time and uptime, and the machine's clock runs on`() throws {
        let machine = Machine()
        let clock = machine.clock()
        #expect(try clock.advance(by: .seconds(3600)) == Self.seconds(1_003_600))
        machine.set(1_000_005)
        #expect(clock.time == Self.seconds(1_003_605))
        #expect(clock.moment.uptime == Uptime(nanoseconds: 1_003_605_000_000_000))
        #expect(clock.machineTime == Self.seconds(1_000_005))
        #expect(try clock.advance(by: .seconds(60)) == Self.seconds(1_003_665))
    }

    @Test func `The clock never goes back, and its offset is at most a century`() throws {
        let clock = Machine().clock()
        #expect(throws: ServiceClock.AdvanceError.tooFar) { try clock.advance(by: .seconds(-1)) }
        #expect(throws: ServiceClock.AdvanceError.tooFar) {
            try clock.advance(by: ServiceClock.maximumOffset + .milliseconds(1))
        }
        #expect(!clock.isAdvanced)
        try clock.advance(by: ServiceClock.maximumOffset)
        #expect(throws: ServiceClock.AdvanceError.tooFar) { try clock.advance(by: .milliseconds(1)) }
    }

    @Test func `A client's time gets the offset of that moment`() throws {
        let machine = Machine()
        let clock = machine.clock()
        machine.set(1_000_100)
        try clock.advance(by: .seconds(1000))
        machine.set(1_000_200)
        try clock.advance(by: .seconds(1000))
        #expect(clock.serviceTime(ofClient: Self.seconds(1_000_099)) == Self.seconds(1_000_099))
        #expect(clock.serviceTime(ofClient: Self.seconds(1_000_100)) == Self.seconds(1_001_100))
        #expect(clock.serviceTime(ofClient: Self.seconds(1_000_199)) == Self.seconds(1_001_199))
        #expect(clock.serviceTime(ofClient: Self.seconds(1_000_200)) == Self.seconds(1_002_200))
        // A time in the future uses the present offset.
        #expect(clock.serviceTime(ofClient: Self.seconds(2_000_000)) == Self.seconds(2_002_000))
        #expect(clock.serviceTime(ofClient: Timestamp(milliseconds: .max)) == Timestamp(milliseconds: .max))
    }

    @Test func `The service's times are converted back, and skipped times become the moment of the advance`()
        throws
    {
        let machine = Machine()
        let clock = machine.clock()
        machine.set(1_000_100)
        try clock.advance(by: .seconds(1000))
        machine.set(1_000_200)
        try clock.advance(by: .seconds(1000))
        #expect(clock.clientTime(of: Self.seconds(1_000_050)) == Self.seconds(1_000_050))
        #expect(clock.clientTime(of: Self.seconds(1_000_600)) == Self.seconds(1_000_100))
        #expect(clock.clientTime(of: Self.seconds(1_001_150)) == Self.seconds(1_000_150))
        #expect(clock.clientTime(of: Self.seconds(1_001_900)) == Self.seconds(1_000_200))
        #expect(clock.clientTime(of: Self.seconds(1_002_200)) == Self.seconds(1_000_200))
        #expect(clock.clientTime(of: Self.seconds(1_003_000)) == Self.seconds(1_001_000))
    }

    @Test(arguments: [Duration.milliseconds(1), .milliseconds(500), .milliseconds(999), .seconds(3600)])
    func `A device reads the expiration that the provider wrote`(_ advance: Duration) throws {
        let clock = Machine().clock()
        try clock.advance(by: advance)
        let expiration = Expiration.at(1_000_700)
        let inService = clock.teamExpiration(ofClient: expiration, for: Self.app)
        #expect(inService != expiration)
        #expect(clock.clientExpiration(of: inService, for: Self.app) == expiration)
        #expect(clock.teamExpiration(ofClient: .immediately, for: Self.app) == .immediately)
        #expect(clock.teamExpiration(ofClient: .unspecified, for: Self.app) == .unspecified)
    }

    @Test func `If an iat has a fraction of a second, the converted time has it too`() throws {
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        let clock = Machine().clock()
        try clock.advance(by: .seconds(3600))
        #expect(clock.teamSeconds(ofClient: 1_000_000.25, of: team) == 1_003_600.25)
        #expect(clock.teamSeconds(ofClient: -5, of: team) == -5)
        #expect(clock.teamSeconds(ofClient: .infinity, of: team) == .infinity)
        #expect(clock.teamSeconds(ofClient: .nan, of: team).isNaN)
    }

    @Test func `An iat in the same second as an advance counts as later than the advance`() throws {
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        let clock = ServiceClock(isVirtual: true) {
            Moment(time: Timestamp(milliseconds: 1_000_000_700), uptime: Uptime(nanoseconds: 0))
        }
        try clock.advance(by: .seconds(3600))
        #expect(clock.teamSeconds(ofClient: 1_000_000, of: team) == 1_003_600)
        #expect(clock.teamSeconds(ofClient: 1_000_000.5, of: team) == 1_000_000.5)
        #expect(clock.teamSeconds(ofClient: 999_999, of: team) == 999_999)
    }

    @Test func `Beyond the limit the oldest advances are forgotten`() throws {
        let clock = Machine().clock()
        for _ in 0..<(ClockHistory.maximumSteps + 5) { try clock.advance(by: .milliseconds(1)) }
        #expect(clock.time.milliseconds == 1_000_000_000 + UInt64(ClockHistory.maximumSteps) + 5)
        #expect(clock.serviceTime(ofClient: Self.seconds(1)) == Timestamp(milliseconds: 1005))
    }

    @Test func `A team's clock is the service's plus its own offset, and the service's stays`() throws {
        let machine = Machine()
        let clock = machine.clock()
        let (one, other) = (
            try #require(TeamID(rawValue: "ABCDE12345")), try #require(TeamID(rawValue: "ABCDE67890"))
        )
        clock.teams.follow { $0 == Self.app ? one : other }
        #expect(!clock.teams.areAdvanced)
        #expect(try clock.advance(one, by: .seconds(3600)) == Self.seconds(1_003_600))
        #expect(clock.time == Self.seconds(1_000_000))
        #expect(clock.time(of: other) == Self.seconds(1_000_000))
        #expect(clock.teams.time(clock.time, of: Self.app) == Self.seconds(1_003_600))
        #expect(clock.teams.time(clock.time, of: AppID(rawValue: 2)) == Self.seconds(1_000_000))
        // A team follows the service's clock.
        machine.set(1_000_010)
        try clock.advance(by: .seconds(100))
        #expect(clock.time(of: one) == Self.seconds(1_003_710))
        clock.teams.forget(one)
        #expect(!clock.teams.areAdvanced)
        #expect(clock.time(of: one) == clock.time)
    }

    @Test func `A client's times are converted by the offset that the team had at that time`() throws {
        let machine = Machine()
        let clock = machine.clock()
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        clock.teams.follow { _ in team }
        machine.set(1_000_100)
        try clock.advance(by: .seconds(50))
        machine.set(1_000_200)
        try clock.advance(team, by: .seconds(1000))
        #expect(clock.teamSeconds(ofClient: 1_000_099, of: team) == 1_000_099)
        #expect(clock.teamSeconds(ofClient: 1_000_150, of: team) == 1_000_200)
        #expect(clock.teamSeconds(ofClient: 1_000_201, of: team) == 1_001_251)
        for seconds: UInt64 in [1_000_050, 1_000_150, 1_000_300, 2_000_000] {
            let expiration = Expiration.at(seconds)
            let converted = clock.teamExpiration(ofClient: expiration, for: Self.app)
            #expect(clock.clientExpiration(of: converted, for: Self.app) == expiration)
        }
    }

    @Test func `A team's advances have the limits of the service's`() throws {
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        #expect(throws: ServiceClock.AdvanceError.isSystem) {
            try Machine().clock(isVirtual: false).advance(team, by: .seconds(1))
        }
        let clock = Machine().clock()
        #expect(throws: ServiceClock.AdvanceError.tooFar) { try clock.advance(team, by: .seconds(-1)) }
        try clock.advance(team, by: ServiceClock.maximumOffset)
        #expect(throws: ServiceClock.AdvanceError.tooFar) { try clock.advance(team, by: .milliseconds(1)) }
    }
}
