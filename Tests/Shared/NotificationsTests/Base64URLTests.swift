import Notifications
import Testing

@Suite("Base 64")
struct Base64URLTests {
    @Test(arguments: 0..<20)
    func `Decodes what it encodes, whatever the length`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 250) }
        #expect(Base64URL.decoded(Base64URL.encoded(bytes)[...]) == bytes)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ])
    func `Agrees with RFC 4648's examples`(text: String, encoded: String) {
        #expect(Base64URL.decoded(Array(encoded.utf8)[...]) == Array(text.utf8))
        #expect(
            String(decoding: Base64URL.encoded(text.utf8), as: UTF8.self)
                + String(repeating: "=", count: (4 - Base64URL.encoded(text.utf8).count % 4) % 4) == encoded)
    }

    @Test(arguments: [
        "Z", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "=", "==", "Z g=", "Zm9v\n", "Zh==", "Zm9=", "Zm8.", "Zé", "Z=g=",
    ])
    func `Refuses any other text`(text: String) {
        #expect(Base64URL.decoded(Array(text.utf8)[...]) == nil)
    }

    @Test(arguments: [
        ("-_8", true, true), ("+/8", false, false), ("-_8=", true, false), ("+/8=", false, false), ("Zg", true, true),
        ("Zg==", true, false), ("Zh", false, false),
    ])
    func `The stricter forms refuse the other alphabet, and padding`(text: String, isURL: Bool, isToken: Bool) {
        let digits = Array(text.utf8)[...]
        #expect((Base64URL.decoded(digits, .url) != nil) == isURL)
        #expect((Base64URL.decoded(digits, .token) != nil) == isToken)
    }
}
