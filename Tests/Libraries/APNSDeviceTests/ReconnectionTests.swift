import NIOCore
import Testing

@testable import APNSDevice

struct ReconnectionTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `The delay doubles up to the longest, minus a random part of up to half`() {
        var longest = Reconnection()
        var shortest = Reconnection()
        var delays: [TimeAmount] = []
        for _ in 0..<8 {
            delays.append(longest.ended(at: start, random: 1))
            #expect(shortest.ended(at: start, random: 0).nanoseconds * 2 == delays.last?.nanoseconds)
        }
        #expect(
            delays == [
                .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
                .seconds(30),
            ])
    }

    @Test func `After a connection that lasted for a while the delay begins again, after a short one it does not`() {
        var reconnection = Reconnection()
        for _ in 0..<4 { _ = reconnection.ended(at: start, random: 1) }
        reconnection.open(at: start)
        #expect(reconnection.ended(at: start + .seconds(4), random: 1) == .seconds(8))
        reconnection.open(at: start)
        #expect(reconnection.ended(at: start + .seconds(5), random: 1) == .milliseconds(500))
    }

    @Test func `After a connection that never opened the delay goes on growing, however long the attempt took`() {
        var reconnection = Reconnection()
        _ = reconnection.ended(at: start, random: 1)
        #expect(reconnection.ended(at: start + .hours(1), random: 1) == .seconds(1))
    }

    @Test func `On another network the delay begins again`() {
        var reconnection = Reconnection()
        for _ in 0..<6 { _ = reconnection.ended(at: start, random: 1) }
        reconnection.networkIsBack()
        #expect(reconnection.ended(at: start, random: 1) == .milliseconds(500))
    }
}
