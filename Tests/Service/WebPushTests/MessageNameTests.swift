import Delivery
import Notifications
import Testing
import Trust

@testable import WebPush

/// The name of a message in its URL.
struct MessageNameTests {
    private func seal() throws -> CredentialSeal { try #require(CredentialSeal(key: CredentialSeal.makeKey())) }

    private let name = MessageName(
        NotificationID(high: 0x0102_0304_0506_4708, low: .max),
        to: Destination(
            environment: .production, device: DeviceID(rawValue: .max - 1), app: AppID(rawValue: 0x0a0b_0c0d), queue: 7)
    )

    @Test func `A name opens under the same key, and is another one each time`() throws {
        let seal = try seal()
        let text = try name.text(seal)
        #expect(text.utf8.count == MessageName.textLength)
        #expect(try name.text(seal) != text)
        let read = try #require(MessageName(text, seal))
        #expect(read == name && read.destination.queue == 7 && read.destination.environment == .production)
    }

    @Test func `A name of another key, a changed one and another secret do not open`() throws {
        let seal = try seal()
        let text = try name.text(seal)
        #expect(MessageName(text, try self.seal()) == nil)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(MessageName(changed, seal) != name)
        }
        for text in ["", "A", text + "A", String(text.dropLast()), String(repeating: "*", count: 82)] {
            #expect(MessageName(text, seal) == nil)
        }
        let other = try seal.seal([UInt8](repeating: 0, count: 33), as: "an upstream")
        #expect(MessageName(String(decoding: Base64URL.encoded(other), as: UTF8.self), seal) == nil)
    }
}
