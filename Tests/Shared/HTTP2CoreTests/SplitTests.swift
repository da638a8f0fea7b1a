import HTTP2Core
import Testing

/// The events do not depend on how the bytes are split.
struct SplitTests {
    private static let session: [UInt8] =
        Wire.preface + Wire.settings([(1, 100), (4, 100_000), (9, 1)]) + Wire.settingsAck
        + Wire.headers(1, Wire.post + [("content-length", "6")], endStream: false) + Wire.ping()
        + Wire.data(1, "abc") + Wire.frame(0, 9, 1, [2] + Array("def".utf8) + [0, 0])
        + Wire.headers(3, Wire.get, endHeaders: false) + Wire.frame(9, 4, 3, Wire.block([("a", "b")]))
        + Wire.frame(0xfe, 0, 0, [1, 2, 3]) + Wire.windowUpdate(0, 9) + Wire.frame(2, 0, 3, [0, 0, 0, 0, 0])
        + Wire.headers(5, Wire.post, endStream: false) + Wire.data(5, "") + Wire.headers(5, [("t", "u")])
        + Wire.reset(3) + Wire.goAway(0, 0, debug: "bye")

    /// Content that came in parts is one event.
    private func joined(_ events: [String]) -> [String] {
        var all: [String] = []
        for event in events {
            if event.hasPrefix("data 1 "), let last = all.last, last.hasPrefix("data 1 ") {
                let isEnd = event.hasPrefix("data 1 end ")
                let text = event.dropFirst(isEnd ? 11 : 7)
                all[all.count - 1] = (isEnd ? last.replacing("data 1 ", with: "data 1 end ") : last) + text
            } else {
                all.append(event)
            }
        }
        return all
    }

    @Test func `Split at each byte`() {
        let whole = joined(Side(.server).receive(Self.session))
        #expect(whole.count == 12)
        for index in Self.session.indices {
            let side = Side(.server)
            let parts = side.receive(Array(Self.session[..<index])) + side.receive(Array(Self.session[index...]))
            #expect(joined(parts) == whole)
        }
    }

    @Test(arguments: 1...40) func `Split into equal parts`(_ count: Int) {
        let whole = joined(Side(.server).receive(Self.session))
        let side = Side(.server)
        var events: [String] = []
        for start in stride(from: 0, to: Self.session.count, by: count) {
            events += side.receive(Array(Self.session[start..<min(start + count, Self.session.count)]))
        }
        #expect(joined(events) == whole)
    }
}
