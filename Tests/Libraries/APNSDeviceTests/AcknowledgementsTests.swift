import Delivery
import NIOCore
import Testing

@testable import APNSDevice

struct AcknowledgementsTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let soon = start + .milliseconds(999)

    @Test func `Only one request is open at a time; acknowledgements that come meanwhile go into the next`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.taken(1)
        #expect(acknowledgements.next(at: Self.start) == .request([1]))
        acknowledgements.taken(2)
        acknowledgements.taken(3)
        #expect(acknowledgements.next(at: Self.start) == nil)
        #expect(acknowledgements.answered() == 1)
        #expect(acknowledgements.next(at: Self.start + .seconds(1)) == .request([2, 3]))
        #expect(acknowledgements.answered() == 2)
        #expect(acknowledgements.isEmpty)
    }

    @Test func `If acknowledgements keep coming, a request stays open until none comes for a second`() {
        var acknowledgements = Self.open()
        acknowledgements.taken(3)
        acknowledgements.taken(4)
        #expect(acknowledgements.next(at: Self.soon + .milliseconds(500)) == .add([3, 4]))
        #expect(acknowledgements.next(at: Self.soon + .milliseconds(1499)) == nil)
        #expect(acknowledgements.deadline == Self.soon + .milliseconds(1500))
        #expect(acknowledgements.next(at: Self.soon + .milliseconds(1500)) == .end)
        #expect(acknowledgements.deadline == nil)
        acknowledgements.taken(5)
        #expect(acknowledgements.next(at: Self.soon + .milliseconds(1500)) == nil)
        #expect(acknowledgements.answered() == 3)
        #expect(acknowledgements.next(at: Self.soon + .milliseconds(1501)) == .request([5]))
    }

    @Test func `A request stays open for ten seconds at most`() {
        var acknowledgements = Self.open()
        var now = Self.soon
        for sending in 3...12 as ClosedRange<UInt64> {
            #expect(acknowledgements.deadline == min(now + .seconds(1), Self.soon + .seconds(10)))
            now = now + .milliseconds(990)
            acknowledgements.taken(sending)
            #expect(acknowledgements.next(at: now) == .add([sending]))
        }
        acknowledgements.taken(13)
        #expect(acknowledgements.next(at: Self.soon + .seconds(10)) == .end)
        #expect(acknowledgements.next(at: Self.soon + .seconds(10)) == nil)
        #expect(acknowledgements.answered() == 11)
        #expect(acknowledgements.next(at: Self.soon + .seconds(10)) == .begin([13]))
    }

    @Test func `With the last acknowledgement, the open request ends`() {
        var acknowledgements = Self.open()
        acknowledgements.taken(3)
        #expect(acknowledgements.next(at: Self.soon, isLast: true) == .add([3]))
        #expect(acknowledgements.next(at: Self.soon, isLast: true) == .end)
        #expect(acknowledgements.next(at: Self.soon, isLast: true) == nil)
    }

    @Test func `The last acknowledgements go in a complete request`() {
        var acknowledgements = Acknowledgements()
        for sending in 1...2 as ClosedRange<UInt64> {
            acknowledgements.taken(sending)
            #expect(acknowledgements.next(at: Self.start, isLast: true) == .request([sending]))
            acknowledgements.answered()
        }
    }

    @Test func `Acknowledgements of a failed request are sent again, before others`() {
        var acknowledgements = Self.open()
        acknowledgements.taken(3)
        _ = acknowledgements.next(at: Self.soon)
        acknowledgements.taken(4)
        acknowledgements.failed()
        #expect(acknowledgements.deadline == nil)
        #expect(acknowledgements.next(at: Self.soon + .seconds(1)) == .request([2, 3, 4]))
    }

    @Test func `A request holds a thousand acknowledgements`() {
        var acknowledgements = Acknowledgements()
        for sending in 0..<2500 as Range<UInt64> { acknowledgements.taken(sending) }
        #expect(acknowledgements.next(at: Self.start) == .request([UInt64](0..<1000)))
        acknowledgements.answered()
        #expect(acknowledgements.next(at: Self.start) == .begin([UInt64](1000..<2000)))
        #expect(acknowledgements.next(at: Self.start) == .end)
        acknowledgements.answered()
        #expect(acknowledgements.next(at: Self.start) == .begin([UInt64](2000..<2500)))
        for sending in 2500..<3500 as Range<UInt64> { acknowledgements.taken(sending) }
        #expect(acknowledgements.next(at: Self.start) == .add([UInt64](2500..<3000)))
        #expect(acknowledgements.next(at: Self.start) == .end)
    }

    @Test func `A device keeps the acknowledgements of all that the service sends without one`() {
        let most = UInt64(DeliveryLimits.mostUnacknowledged + ChannelLimits.mostUnacknowledged)
        var acknowledgements = Acknowledgements()
        for number in 1...most { acknowledgements.taken(number) }
        #expect(acknowledgements.next(at: Self.start, isLast: true) == .request(Array(1...1000)))
    }

    @Test func `The number of waiting acknowledgements is limited, and the newest stay`() {
        var acknowledgements = Acknowledgements()
        for sending in 0..<100_000 { acknowledgements.taken(UInt64(sending)) }
        var all: [UInt64] = []
        while case .request(let sendings) = acknowledgements.next(at: Self.start, isLast: true) {
            all += sendings
            acknowledgements.answered()
        }
        #expect(all.count <= Acknowledgements.Limits().waiting)
        #expect(all.last == 99_999)
    }

    /// Returns a state with an open request that contains 2.
    private static func open() -> Acknowledgements {
        var acknowledgements = Acknowledgements()
        acknowledgements.taken(1)
        _ = acknowledgements.next(at: start)
        acknowledgements.answered()
        acknowledgements.taken(2)
        #expect(acknowledgements.next(at: soon) == .begin([2]))
        return acknowledgements
    }
}
