import APNSDevice
import Testing

@testable import DeviceAgent

/// The line of a Web Push message, which `carillon device listen --json` prints and the agent's apps get.
struct WebPushLineTests {
    @Test func `The parts of a message are those of the stream's line, and what is missing is null`() {
        func line(_ message: WebPushMessage) -> String {
            EventLine.webPush(
                ReceivedNotification(
                    id: "43ffc19a-9e11-4e5e-83be-7fe45ddc8e18", bundleID: "com.example.app", webPush: message)
            ).text
        }
        let least = line(WebPushMessage(subscription: "chat 7", body: [1]))
        #expect(
            least.contains(
                #""subscription":"chat 7","webPush":{"body":"AQ","dh":null,"encoding":null,"salt":null,"topic":null,"urgency":"normal"}"#
            ), "\(least)")
        let all = line(
            WebPushMessage(
                subscription: "chat 7", body: [], encoding: "aesgcm", dh: "BA", salt: "c2FsdA", urgency: "high",
                topic: "t"))
        #expect(
            all.contains(
                #""webPush":{"body":"","dh":"BA","encoding":"aesgcm","salt":"c2FsdA","topic":"t","urgency":"high"}"#),
            "\(all)")
    }
}
