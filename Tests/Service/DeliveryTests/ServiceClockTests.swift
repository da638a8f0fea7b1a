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
        let inService = clock.serviceExpiration(ofClient: expiration)
        #expect(inService != expiration)
        #expect(clock.clientExpiration(of: inService) == expiration)
        #expect(clock.serviceExpiration(ofClient: .immediately) == .immediately)
        #expect(clock.serviceExpiration(ofClient: .unspecified) == .unspecified)
    }

    @Test func `If an iat has a fraction of a second, the converted time has it too`() throws {
        let clock = Machine().clock()
        try clock.advance(by: .seconds(3600))
        #expect(clock.serviceSeconds(ofClient: 1_000_000.25) == 1_003_600.25)
        #expect(clock.serviceSeconds(ofClient: -5) == -5)
        #expect(clock.serviceSeconds(ofClient: .infinity) == .infinity)
        #expect(clock.serviceSeconds(ofClient: .nan).isNaN)
    }

    @Test func `An iat in the same second as an advance counts as later than the advance`() throws {
        let clock = ServiceClock(isVirtual: true) {
            Moment(time: Timestamp(milliseconds: 1_000_000_700), uptime: Uptime(nanoseconds: 0))
        }
        try clock.advance(by: .seconds(3600))
        #expect(clock.serviceSeconds(ofClient: 1_000_000) == 1_003_600)
        #expect(clock.serviceSeconds(ofClient: 1_000_000.5) == 1_000_000.5)
        #expect(clock.serviceSeconds(ofClient: 999_999) == 999_999)
    }

    @Test func `Beyond the limit the oldest advances are forgotten`() throws {
        let clock = Machine().clock()
        for _ in 0..<(ClockHistory.maximumSteps + 5) { try clock.advance(by: .milliseconds(1)) }
        #expect(clock.time.milliseconds == 1_000_000_000 + UInt64(ClockHistory.maximumSteps) + 5)
        #expect(clock.serviceTime(ofClient: Self.seconds(1)) == Timestamp(milliseconds: 1005))
    }
}
