import Notifications
import Testing

@testable import APNSDevice

struct LineReaderTests {
    private func read(_ pieces: [String]) throws -> [LineReader.Line] {
        var reader = LineReader()
        var lines: [LineReader.Line] = []
        for piece in pieces { try reader.read(Array(piece.utf8).span) { lines.append($0) } }
        return lines
    }

    @Test func `However the bytes are split, the lines are the same`() throws {
        let text = ScriptedCourier.line(1) + "\n" + ScriptedCourier.line(2) + #"{"end":"shutdown"}"# + "\n"
        let whole = try read([text])
        #expect(whole.count == 4)
        for size in [1, 2, 7, 100] {
            var pieces: [String] = []
            var rest = Substring(text)
            while !rest.isEmpty {
                pieces.append(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(try read(pieces) == whole)
        }
    }

    @Test func `A payload may be as deeply nested as the service allows`() throws {
        for (open, close) in [(#"{"a":"#, "}"), ("[", "]")] {
            let inner = String(repeating: open, count: Payload.maximumDepth - 1) + "1"
            let payload = #"{"a":"# + inner + String(repeating: close, count: Payload.maximumDepth - 1) + "}"
            _ = try Payload(Array(payload.utf8))
            guard case .notification(let notification) = try read([ScriptedCourier.line(1, payload: payload)]).first
            else {
                Issue.record("It is no notification.")
                return
            }
            #expect(notification.payload == Array(payload.utf8))
        }
    }

    @Test func `A line with every key is read`() throws {
        let line =
            #"{"sending":3,"id":"43ffc19a-9e11-4e5e-83be-7fe45ddc8e18","topic":"com.example.app.voip","#
            + #""bundleID":"com.example.app","priority":5,"expiration":2000000000,"collapseID":"a\"b\u00e9","#
            + #""pushType":"voip","payload":{"aps":{}}}"# + "\n"
        guard case .notification(let notification) = try read([line]).first else {
            Issue.record("It is no notification.")
            return
        }
        var expected = ReceivedNotification(
            id: "43ffc19a-9e11-4e5e-83be-7fe45ddc8e18", topic: "com.example.app.voip", bundleID: "com.example.app",
            priority: 5, expiration: 2_000_000_000, collapseID: "a\"bé", pushType: "voip",
            payload: Array(#"{"aps":{}}"#.utf8))
        expected.sending = 3
        #expect(notification == expected)
    }

    @Test(arguments: [
        #"{"sending":1}"#, #"{"sending":1,"id":"x","topic":"t","bundleID":"b","priority":10,"payload":{}}"#,
        #"{"sending":1,"id":"43ffc19a-9e11-4e5e-83be-7fe45ddc8e18","topic":7,"bundleID":"b","priority":10,"payload":{}}"#,
        #"{"sending":1,"id":"43ffc19a-9e11-4e5e-83be-7fe45ddc8e18","topic":"t","bundleID":"b","priority":99999999999999999999,"payload":{}}"#,
    ])
    func `A notification that cannot be read is reported by its number`(_ line: String) throws {
        #expect(try read([line + "\n"]) == [.unreadable(sending: 1)])
    }

    @Test(arguments: ["{}", #"{"event":"later"}"#, #"{"sending":-1}"#, #"{"end":7}"#])
    func `Other lines are ignored`(_ line: String) throws {
        #expect(try read([line + "\n"]) == [.nothing])
    }

    @Test func `A line of the greatest length is read, and a line with one more byte is not`() throws {
        let frame = #"{"x":""}"#
        let most = String(repeating: "x", count: LineReader.maximumLineBytes - frame.utf8.count)
        #expect(try read([#"{"x":"\#(most)"}"# + "\n"]) == [.nothing])
        #expect(throws: DeviceError.self) { try read([#"{"x":"\#(most)x"}"# + "\n"]) }
        #expect(throws: DeviceError.self) { try read([#"{"x":"\#(most)"#, "xxxxxxxx"]) }
    }
}
