import HTTP2
import Matching
import NIOCore
import Testing

@testable import Stage

/// What a connection's client does, apart from its requests.
@Suite struct ConnectionPracticeTests {
    private static let hour = TimeAmount.hours(1)

    private static func use(
        _ practice: inout ConnectionPractice,
        _ minutes: Int64,
        isIdle: Bool = true,
    ) -> Set<RequestFacts.Practice> {
        practice.requestBegan(
            isIdle: isIdle, isObserved: true, silence: hour, at: .uptimeNanoseconds(0) + .minutes(minutes))
    }

    @Test func `After an idle hour a connection has to be checked with PING before its next use`() {
        var practice = ConnectionPractice()
        #expect(Self.use(&practice, 0) == [])
        #expect(Self.use(&practice, 59) == [])
        #expect(Self.use(&practice, 119) == [.unchecked])
        // PING after each hour of silence, as the provider library does.
        practice.pingReceived(at: .uptimeNanoseconds(0) + .minutes(179))
        practice.pingReceived(at: .uptimeNanoseconds(0) + .minutes(239))
        #expect(Self.use(&practice, 260) == [])
        practice.pingReceived(at: .uptimeNanoseconds(0) + .minutes(270))
        #expect(Self.use(&practice, 330) == [.unchecked])
        // An answer is still missing, so the connection is not idle.
        #expect(Self.use(&practice, 400, isIdle: false) == [])
    }

    @Test func `While nobody observes, requests are only counted`() {
        var practice = ConnectionPractice()
        #expect(Self.use(&practice, 0) == [])
        let unseen = practice.requestBegan(isIdle: true, isObserved: false, silence: Self.hour, at: .distantFuture)
        #expect(unseen == [])
        #expect(Self.use(&practice, 200) == [])
        #expect(practice.requests == 3)
    }

    @Test func `A few WINDOW_UPDATE frames for each request are no fault`() {
        var practice = ConnectionPractice()
        for _ in 0..<13 { practice.windowUpdateReceived() }
        #expect(Self.use(&practice, 0) == [])
        practice.windowUpdateReceived()
        for _ in 0..<4 { practice.windowUpdateReceived() }
        #expect(Self.use(&practice, 0) == [.windowUpdates])
    }
}
