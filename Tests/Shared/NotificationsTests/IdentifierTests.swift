import Notifications
import CommonTesting
import Testing

/// Which texts are identifiers of each kind, and how identifiers are written.
@Suite("Identifiers")
struct IdentifierTests {
    // MARK: NotificationID

    @Test
    func `The ID of a notification is read in upper or lower case and written in lower case`() throws {
        let id = try #require(NotificationID("0123ABCD-ef01-2345-6789-abcdefABCDEF"))
        #expect(id == NotificationID(high: 0x0123_abcd_ef01_2345, low: 0x6789_abcd_efab_cdef))
        #expect(id.description == "0123abcd-ef01-2345-6789-abcdefabcdef")
    }

    @Test
    func `Each digit of a notification's ID is read and written in its place`() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let id = NotificationID(high: generator.next(), low: generator.next())
            let words = [id.high, id.low].map { word in
                let digits = String(word, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }
            var digits = words.joined()
            for position in [20, 16, 12, 8] {
                digits.insert("-", at: digits.index(digits.startIndex, offsetBy: position))
            }
            #expect(id.description == digits)
            #expect(NotificationID(digits) == id)
        }
    }

    @Test(arguments: [
        "", "123e4567-e89b-12d3-a456-42665544000",  // The guide's example, which lacks a digit.
        "123e4567-e89b-12d3-a456-4266554400000", "123e4567e89b12d3a456426655440000",
        "123e4567-e89b-12d3-a456_426655440000", "123e4567-e89b-12d3a-456-426655440000",
        "{23e4567-e89b-12d3-a456-42665544000}", "123e4567-e89b-12d3-a456-42665544000g",
        " 23e4567-e89b-12d3-a456-426655440000", "-23e4567-e89b-12d3-a456-426655440000",
        "123e45678e89b-12d3-a456-426655440000", "123e4567-e89b-12d3-a456-42665544é00",
        "+23e4567-e89b-12d3-a456-426655440000", "123e4567--e89b-12d3-a456-42665544000",
    ])
    func `What is not a canonical UUID is refused`(_ text: String) {
        #expect(NotificationID(text) == nil)
    }

    @Test
    func `In each place of a notification's ID exactly the hexadecimal digits are read`() {
        let canonical = Array("123e4567-e89b-12d3-a456-426655440000".utf8)
        let digits = Array("0123456789abcdefABCDEF".utf8)
        for place in canonical.indices {
            let allowed = canonical[place] == UInt8(ascii: "-") ? [UInt8(ascii: "-")] : digits
            for byte in UInt8.min...UInt8.max {
                var text = canonical
                text[place] = byte
                let id = NotificationID(text.span)
                #expect((id != nil) == allowed.contains(byte), "byte \(byte) in place \(place)")
                if let id { #expect(id.textAsSent.span.text.utf8.elementsEqual(text)) }
            }
        }
    }

    @Test
    func `A notification's ID keeps its spelling, which does not matter for equality`() throws {
        let lower = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        for text in [lower, lower.uppercased(), "8B1e5b4A-9C0c-4d5E-8f00-0123456789aB"] {
            let id = try #require(NotificationID(text))
            #expect(id.textAsSent.span.text == text)
            #expect(id.description == lower)
            #expect(id.hasCapitals == (text != lower))
            #expect(try id == #require(NotificationID(lower)))
            #expect(try id.hashValue == #require(NotificationID(lower)).hashValue)
        }
    }

    @Test
    func `Any notification's ID reads back as it was written`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let id = NotificationID(high: generator.next(), low: generator.next())
            #expect(NotificationID(id.description) == id)
        }
    }

    @Test
    func `A new notification's ID is a UUID of version 4 with RFC 9562's variant`() {
        var generator = SeededGenerator(seed: 1)
        var ids: Set<NotificationID> = []
        for _ in 0..<100 {
            let id = NotificationID.random(using: &generator)
            #expect(id.high >> 12 & 0xf == 4)
            #expect(id.low >> 62 == 0b10)
            #expect(ids.insert(id).inserted)
        }
    }

    // MARK: DeviceToken

    private static let digits = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    private static let notDeviceTokens: [String] = {
        let (one, two) = (String(digits.dropLast()), String(digits.dropLast(2)))
        let long = String(repeating: "0", count: 202)
        return [
            "", "00", one, two, "\(digits)0", "\(digits)000", long, "\(one)g", "g\(one)", "\(two)é", "0x\(two)",
            "\(one) ",
        ]
    }()

    @Test
    func `A device token has 64 digits or more, in upper or lower case`() throws {
        let token = try #require(DeviceToken(Self.digits))
        #expect(token.description == Self.digits)
        #expect(DeviceToken(Self.digits.uppercased()) == token)
        #expect(token.array.count == DeviceToken.byteCount)
        #expect(Array(token.array.prefix(3)) == [0x00, 0xfc, 0x13])
        #expect(DeviceToken(token.array) == token)
    }

    @Test(arguments: notDeviceTokens)
    func `Any other number of digits, or another character, is not a device token`(_ text: String) {
        #expect(DeviceToken(text) == nil)
    }

    @Test(arguments: [0, 31, 101])
    func `A device token of another number of bytes is refused`(_ count: Int) {
        #expect(DeviceToken([UInt8](repeating: 0, count: count)) == nil)
    }

    // MARK: DeviceID

    @Test
    func `A device's ID is 16 hexadecimal digits`() throws {
        let id = try #require(DeviceID("00fedCBA98765432"))
        #expect(id.rawValue == 0xfe_dcba_9876_5432)
        #expect(id.description == "00fedcba98765432")
        #expect(DeviceID(rawValue: 0).description == "0000000000000000")
        #expect(DeviceID(DeviceID(rawValue: .max).description) == DeviceID(rawValue: .max))
    }

    @Test(arguments: [
        "", "0", "000000000000000", "00000000000000000", "000000000000000g", "+000000000000000", "0x00000000000000",
    ])
    func `Any other text is not a device's ID`(_ text: String) {
        #expect(DeviceID(text) == nil)
    }

    // MARK: BundleID

    @Test(arguments: [
        "a", "com.example.app", "com.example.My-App2", "A-Z.0-9", "-", "a..b", String(repeating: "a", count: 200),
    ])
    func `A bundle ID has letters, digits, hyphens and periods`(_ text: String) {
        #expect(BundleID(rawValue: text)?.description == text)
    }

    @Test(arguments: [
        "", ".", ".com", "com.", "com example", "com_example", "com/example", "com.exämple", "com.example\n", "a\0",
        "*", "com.example.*", String(repeating: "a", count: 201),
    ])
    func `Any other text is not a bundle ID`(_ text: String) {
        #expect(BundleID(rawValue: text) == nil)
    }

    @Test
    func `An app's topics are its bundle ID, alone and with a suffix`() throws {
        let app = try #require(BundleID(rawValue: "com.example.app"))
        #expect(app.certificateTopics == ["com.example.app", "com.example.app.voip", "com.example.app.complication"])
        let expected: [TopicKind: String] = [
            .app: "com.example.app", .voip: "com.example.app.voip", .complication: "com.example.app.complication",
            .fileProvider: "com.example.app.pushkit.fileprovider", .location: "com.example.app.location-query",
            .liveActivity: "com.example.app.push-type.liveactivity", .pushToTalk: "com.example.app.voip-ptt",
            .controls: "com.example.app.push-type.controls", .widgets: "com.example.app.push-type.widgets",
        ]
        #expect(expected.count == TopicKind.allCases.count)
        for (kind, topic) in expected { #expect(app.topic(kind) == topic) }
    }

    @Test
    func `The longest topic fits into a name of 255 bytes`() throws {
        let app = try #require(BundleID(rawValue: String(repeating: "a", count: BundleID.maximumBytes)))
        for kind in TopicKind.allCases { #expect(app.topic(kind).utf8.count <= 255) }
    }

    // MARK: CollapseIdentifier

    @Test(arguments: ["a", " ", "é", String(repeating: "é", count: 32)])
    func `A collapse identifier has 1 to 64 bytes of any kind`(_ text: String) {
        #expect(CollapseIdentifier(rawValue: text)?.rawValue == text)
    }

    private static let notCollapseIdentifiers: [String] = [
        "", String(repeating: "a", count: 65), "a\(String(repeating: "é", count: 32))",
        String(repeating: "é", count: 33),
    ]

    @Test(arguments: notCollapseIdentifiers)
    func `A collapse identifier's length is counted in bytes`(_ text: String) {
        #expect(CollapseIdentifier(rawValue: text) == nil)
    }

    // MARK: TeamID, KeyID

    @Test(arguments: [
        ("ABCDEFGHIJ", true), ("0123456789", true), ("C86NV9JX3D", true), ("a", false), ("c86NV9JX3D", false),
        ("C86NV9JX3", false), ("C86NV9JX3DD", false), ("C86NV9JX3-", false), ("my-team_1", false),
        (String(repeating: "a", count: 64), false),
    ])
    func `A team's or a key's ID has letters, digits, hyphens and underscores`(_ text: String, isAssigned: Bool) {
        #expect(TeamID(rawValue: text)?.isAssigned == isAssigned)
        #expect(TeamID(rawValue: text)?.description == text)
        #expect(KeyID(rawValue: text)?.description == text)
    }

    @Test(arguments: [
        "", "C86NV9JX3é", "C86NV9JXé", " C86NV9JX3", "a.b", "a/b", "a\u{0}", String(repeating: "a", count: 65),
    ])
    func `Any other text is not a team's or a key's ID`(_ text: String) {
        #expect(TeamID(rawValue: text) == nil)
        #expect(KeyID(rawValue: text) == nil)
    }

    @Test
    func `A new random ID of a team or a key is valid`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let id = KeyID.random(using: &generator)
            #expect(KeyID(rawValue: id.rawValue) == id)
            #expect(id.isAssigned)
        }
    }

    // MARK: Hexadecimal

    @Test(arguments: 0...255 as ClosedRange<UInt8>)
    func `A hexadecimal digit has its value in either case, and other bytes have none`(_ byte: UInt8) {
        #expect(Hexadecimal.value(of: byte) == Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init))
    }

    @Test
    func `Bytes are written as two lower-case digits each`() {
        #expect(Hexadecimal.string([]) == "")
        #expect(Hexadecimal.string([0x00, 0x0f, 0xa0, 0xff]) == "000fa0ff")
    }
}
