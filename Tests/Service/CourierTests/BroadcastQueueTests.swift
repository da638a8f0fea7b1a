import NIOCore
import Notifications
import Testing

@testable import Courier
@testable import Delivery

/// What waits for the streams of one event loop. The streams are numbers here.
@Suite("The queue of broadcasts")
struct BroadcastQueueTests {
    private static func message(_ number: UInt64) throws -> BroadcastMessage {
        let list = ChannelList(environment: .development, app: AppID(rawValue: 1))
        return BroadcastMessage(
            number: number, channel: ChannelKey(list: list, id: try #require(ChannelID(rawValue: "AAAA"))),
            bundleID: try #require(BundleID(rawValue: "com.example.app")),
            notification: Notification(
                id: NotificationID(high: number, low: 0), topic: "com.example.app",
                payload: Payload(stored: Array("{}".utf8), contents: [])), version: nil)
    }

    private static func written(_ queue: inout BroadcastQueue<Int>) -> [String] {
        var written: [String] = []
        while let entry = queue.next() {
            switch entry {
            case .broadcast(let message, let stream, _): written.append("\(message.number) to \(stream)")
            case .end(let end, let stream): written.append("\(end) of \(stream)")
            }
        }
        return written
    }

    @Test func `The end of a stream waits for the broadcasts before it`() throws {
        var queue = BroadcastQueue<Int>()
        let (first, second) = (try Self.message(1), try Self.message(2))
        var begins: [Bool] = []
        for message in [first, second] {
            for stream in 1...2 { begins.append(queue.append(message, to: stream, in: 0)) }
        }
        #expect(begins == [true, false, false, false])
        #expect(queue.append(.takenOver, of: 1) == true)
        #expect(Self.written(&queue) == ["1 to 1", "1 to 2", "2 to 1", "2 to 2", "takenOver of 1"])
    }

    @Test func `If no broadcast waits, a stream ends at once`() throws {
        var queue = BroadcastQueue<Int>()
        #expect(queue.append(.shutdown, of: 1) == false)
        #expect(queue.append(try Self.message(1), to: 1, in: 0))
        #expect(Self.written(&queue) == ["1 to 1"])
        #expect(queue.append(.shutdown, of: 1) == false)
        // The queue is written again from now on.
        #expect(queue.append(try Self.message(2), to: 1, in: 0))
    }
}
