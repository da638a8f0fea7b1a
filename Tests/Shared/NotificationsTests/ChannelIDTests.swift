import CommonTesting
import Foundation
import Notifications
import Testing

@Suite("Identifiers of broadcast channels")
struct ChannelIDTests {
    @Test(arguments: ["dHN0LXNyY2gtY2hubA==", "AAAA", "AA==", "AAA=", "++//", String(repeating: "A", count: 64)])
    func `An identifier is Base64 with padding`(_ text: String) {
        #expect(ChannelID(rawValue: text)?.rawValue == text)
    }

    @Test(arguments: [
        "", "A", "AAA", "AAAAA", "A===", "====", "AA=A", "AA==AAAA", "A-_A", "AAA ", "AAÄ=",
        String(repeating: "A", count: 68),
    ])
    func `Any other text is not an identifier`(_ text: String) {
        #expect(ChannelID(rawValue: text) == nil)
    }

    @Test
    func `A new identifier has 16 bytes, and needs no escaping in a path`() {
        var generator = SeededGenerator(seed: 1)
        var all: Set<ChannelID> = []
        for _ in 0..<1000 {
            let id = ChannelID.random(using: &generator)
            #expect(ChannelID(rawValue: id.rawValue) == id)
            #expect(Data(base64Encoded: id.rawValue)?.count == 16)
            #expect(!id.rawValue.contains("/") && !id.rawValue.contains("+"))
            all.insert(id)
        }
        #expect(all.count == 1000)
    }
}
