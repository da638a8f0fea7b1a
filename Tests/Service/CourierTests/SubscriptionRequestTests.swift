import Crypto
import NIOCore
import Notifications
import Testing

@testable import Courier

/// The requests for subscriptions of Web Push, as they are read.
@Suite("Requests for subscriptions of Web Push")
struct SubscriptionRequestTests {
    private func action(_ method: String, _ path: String) throws -> DeviceRequest.Action {
        var request = DeviceRequest(began: .now())
        (request.method, request.path) = (method, path)
        request.decide()
        return try #require(request.action).get()
    }

    private func rejection(_ body: () throws -> Void) -> Rejection.Reason? {
        do {
            try body()
            return nil
        } catch {
            return (error as? Rejection)?.reason
        }
    }

    @Test
    func `A name is decoded, and may have slashes`() throws {
        let name = "ü@host/1"
        #expect(
            try action("PUT", "/1/apps/a.b/subscriptions/%C3%BC@host/1")
                == .subscribeWebPush(bundleID: "a.b", name: name))
        #expect(
            try action("DELETE", "/1/apps/a.b/subscriptions/%c3%bc%40host%2F1")
                == .unsubscribeWebPush(bundleID: "a.b", name: name))
        #expect(try action("GET", "/1/apps/a.b/subscriptions?x=1") == .listWebPush(bundleID: "a.b"))
    }

    @Test(arguments: ["", "%", "%4", "%zz", "%ff", "a%0A", "%00", "%C2%9Bm", String(repeating: "n", count: 101)])
    func `A name that is empty, too long or not UTF-8, or has control characters, is refused`(name: String) {
        #expect(rejection { _ = try action("PUT", "/1/apps/a/subscriptions/\(name)") } == .badRequestPayload)
    }

    @Test
    func `Other methods are refused`() {
        for (method, path) in [("POST", "/n"), ("GET", "/n"), ("PUT", ""), ("DELETE", "")] {
            #expect(rejection { _ = try action(method, "/1/apps/a/subscriptions\(path)") } == .methodNotAllowed)
        }
    }

    @Test
    func `The body may be missing, and names a point on the curve`() throws {
        let key = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
        let text = String(decoding: Base64URL.encoded(key), as: UTF8.self)
        let wish = try SubscriptionWish(Array(#"{"vapid":"\#(text)","plain":true}"#.utf8))
        #expect(wish.vapid == key)
        #expect(wish.isPlain)
        for body in ["", "{}", #"{"vapid":null,"plain":false}"#] {
            let wish = try SubscriptionWish(Array(body.utf8))
            #expect(wish.vapid == nil)
            #expect(!wish.isPlain)
        }
        var wrong = key
        wrong[64] ^= 1
        let offCurve = String(decoding: Base64URL.encoded(wrong), as: UTF8.self)
        let bodies = [
            "[]", "{", #"{"vapid":7}"#, #"{"vapid":""}"#, #"{"vapid":"\#(text)A"}"#, #"{"vapid":"\#(text)="}"#,
            #"{"vapid":"\#(offCurve)"}"#,
            #"{"vapid":"\#(text.dropLast())"}"#, #"{"plain":1}"#, #"{"plain":"true"}"#,
        ]
        for body in bodies {
            #expect(rejection { _ = try SubscriptionWish(Array(body.utf8)) } == .badRequestPayload, "\(body)")
        }
    }
}
