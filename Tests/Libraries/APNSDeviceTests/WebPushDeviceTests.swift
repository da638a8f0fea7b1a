import CommonTesting
import Notifications
import Testing

@testable import APNSDevice

/// Web Push on a device: the lines of the stream, and the requests for subscriptions.
struct WebPushDeviceTests {
    private static let id = "43ffc19a-9e11-4e5e-83be-7fe45ddc8e18"

    private static func line(_ webPush: String, subscription: String = #""subscription":"account","#) -> String {
        #"{"sending":3,"id":"\#(id)","topic":"com.example.app","bundleID":"com.example.app","pushType":"webpush","#
            + #""priority":5,"expiration":2000000000,\#(subscription)"webPush":\#(webPush)}"# + "\n"
    }

    private func read(_ line: String) throws -> LineReader.Line? {
        var reader = LineReader()
        var lines: [LineReader.Line] = []
        try reader.read(Array(line.utf8).span) { lines.append($0) }
        return lines.first
    }

    private func message(_ webPush: String) throws -> WebPushMessage? {
        guard case .notification(let notification) = try read(Self.line(webPush)) else { return nil }
        #expect(notification.sending == 3 && notification.id == Self.id && notification.priority == 5)
        #expect(notification.expiration == 2_000_000_000 && notification.payload == Array("{}".utf8))
        return notification.webPush
    }

    // MARK: The stream

    @Test func `A line with all parts of a message is read, and one with the fewest`() throws {
        let all = try message(
            #"{"body":"AP_-","encoding":"aesgcm","dh":"BA","salt":"c2FsdA","urgency":"high","topic":"t"}"#)
        #expect(
            all
                == WebPushMessage(
                    subscription: "account", body: [0, 0xff, 0xfe], encoding: "aesgcm", dh: "BA", salt: "c2FsdA",
                    urgency: "high", topic: "t"))
        let least = try message(#"{"body":"","encoding":null,"dh":null,"salt":null,"urgency":"normal","topic":null}"#)
        #expect(least == WebPushMessage(subscription: "account", body: []))
    }

    @Test func `The longest message fits into a line`() throws {
        let body = String(decoding: Base64URL.encoded([UInt8](repeating: 7, count: 4096)), as: UTF8.self)
        #expect(try message(#"{"body":"\#(body)","encoding":"aes128gcm","urgency":"normal"}"#)?.body.count == 4096)
    }

    @Test(arguments: [
        line(#"{"body":"§"}"#), line(#"{"body":"A"}"#), line("{}"), line("7"), line(#"{"body":7}"#),
        line(#"{"body":""}"#, subscription: ""), line(#"{"body":""}"#, subscription: #""subscription":7,"#),
    ])
    func `A message that cannot be read is reported by its number`(line: String) throws {
        #expect(try read(line) == .unreadable(sending: 3))
    }

    @Test func `A message comes to the delegate and is acknowledged as any notification`() async throws {
        let delegate = RecordingDelegate()
        let line = Self.line(#"{"body":"aGVsbG8","encoding":"aes128gcm","urgency":"normal"}"#)
        try await ScriptedCourier.run { request in
            request.path == "/1/notifications" ? .stream(line) : .answer(204, "")
        } _: { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { $0.acknowledgements == [[3]] }
            }
            let received = delegate.record.value.notifications.first?.webPush
            #expect(received?.body == Array("hello".utf8) && received?.subscription == "account")
        }
    }

    // MARK: Requests

    private func ask<Value: Sendable>(
        _ status: Int,
        _ answer: String,
        _ body: (Device) async throws -> Value,
    ) async throws -> (value: Value, request: ScriptedCourier.Request) {
        var value: Value?
        var request: ScriptedCourier.Request?
        try await ScriptedCourier.run {
            $0.path == "/1/notifications" ? .stream("") : .answer(status, answer)
        } _: {
            courier in
            try await courier.device(RecordingDelegate()) { device in value = try await body(device) }
            request = courier.record.value.requests.first { $0.path.hasPrefix("/1/apps/") }
        }
        return (try #require(value), try #require(request))
    }

    @Test func `An app subscribes under a name of its own`() async throws {
        let (endpoint, request) = try await ask(200, #"{"endpoint":"https://push.example/wp/x"}"#) {
            try await $0.subscribe("com.example.app", toWebPushAs: "me@home/1", vapid: "BA")
        }
        #expect(endpoint == "https://push.example/wp/x")
        #expect(request.method == "PUT" && request.path == "/1/apps/com.example.app/subscriptions/me%40home%2F1")
        #expect(JSONValue(Array(request.body.utf8)) == ["plain": false, "vapid": "BA"])
        let (_, open) = try await ask(200, #"{"endpoint":"https://push.example/wp/x"}"#) {
            try await $0.subscribe("com.example.app", toWebPushAs: "a", isPlain: true)
        }
        #expect(JSONValue(Array(open.body.utf8)) == ["plain": true])
    }

    @Test func `The list of subscriptions is read, also one of 500 with long endpoints`() async throws {
        let entry =
            #"{"name":"NAME","endpoint":"https://push.example/wp/\#(String(repeating: "x", count: 600))","vapid":"BA","plain":true}"#
        let many = Array(repeating: entry, count: 500).joined(separator: ",")
        let (list, request) = try await ask(
            200, #"{"subscriptions":[{"name":"a","endpoint":"https://e/1","vapid":null,"plain":false},\#(many)]}"#
        ) { try await $0.webPushSubscriptions(of: "com.example.app") }
        #expect(request.method == "GET" && request.path == "/1/apps/com.example.app/subscriptions")
        #expect(list.count == 501 && list[0] == WebPushSubscription(name: "a", endpoint: "https://e/1"))
        #expect(list[500].vapid == "BA" && list[500].isPlain)
    }

    @Test func `A subscription ends, and the courier's refusal has its reason`() async throws {
        let (_, request) = try await ask(204, "") {
            try await $0.unsubscribe("com.example.app", fromWebPushAs: "a b")
        }
        #expect(request.method == "DELETE" && request.path == "/1/apps/com.example.app/subscriptions/a%20b")
        let (error, _) = try await ask(403, #"{"reason":"TooManySubscriptions"}"#) { device -> DeviceError? in
            do throws(DeviceError) {
                _ = try await device.subscribe("com.example.app", toWebPushAs: "a")
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.code == .refused && error?.reason == "TooManySubscriptions")
        let (silent, _) = try await ask(200, "{}") { device -> DeviceError.Code? in
            do throws(DeviceError) {
                _ = try await device.subscribe("com.example.app", toWebPushAs: "a")
                return nil
            } catch {
                return error.code
            }
        }
        #expect(silent == .badResponse)
    }
}
