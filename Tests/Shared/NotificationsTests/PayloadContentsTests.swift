import Notifications
import Testing

/// The facts about the `aps` dictionary that a payload records.
@Suite("Payload: the keys of aps")
struct PayloadContentsTests {
    private static func contents(_ body: String) throws -> Payload.Contents {
        try Payload(Array(body.utf8)).contents
    }

    private static let members: [(text: String, flag: Payload.Contents)] = [
        (#""alert":"Hello""#, .alert), (#""badge":3"#, .badge), (#""sound":"default""#, .sound),
        (#""content-available":1"#, .contentAvailable),
    ]

    @Test(arguments: 0..<16)
    func `Every combination of keys is recognised`(_ bits: Int) throws {
        let chosen = Self.members.indices.filter { bits >> $0 & 1 == 1 }.map { Self.members[$0] }
        let expected = chosen.reduce(into: Payload.Contents.aps) { $0.insert($1.flag) }
        let text = chosen.map(\.text).joined(separator: ",")
        #expect(try Self.contents(#"{"aps":{\#(text)}}"#) == expected)
        // The order of the keys does not matter, nor do other keys between them.
        let reversed = chosen.reversed().map(\.text).joined(separator: #","thread-id":{"alert":0},"#)
        #expect(try Self.contents(#"{"a":[1],"aps":{\#(reversed)},"b":{}}"#) == expected)
    }

    @Test(
        arguments: [
            (#"{"\u0061ps":{}}"#, .aps),
            (#"{"\u0061\u0070\u0073":{"\u0061lert":1}}"#, [.aps, .alert]),
            (#"{"aps":{"content\u002davailable":1}}"#, [.aps, .contentAvailable]),
            (#"{"aps":{"content\u002Davailable":1}}"#, [.aps, .contentAvailable]),
            (#"{"aps":{"badg\u0065":1,"soun\u0064":1}}"#, [.aps, .badge, .sound]),
            (#"{"aps\u0000":{}}"#, []), (#"{"\u0161ps":{}}"#, []), (#"{"aps\u0020":{}}"#, []), (#"{"\naps":{}}"#, []),
        ] as [(String, Payload.Contents)])
    func `A key may be written with escapes`(_ body: String, _ expected: Payload.Contents) throws {
        #expect(try Self.contents(body) == expected)
    }

    @Test(arguments: ["ap", "apsx", "APS", "Aps", " aps", "aps ", "", "äps", "apś"])
    func `A key that only resembles another is not recognised as it`(_ key: String) throws {
        #expect(try Self.contents(#"{"\#(key)":{"alert":1}}"#) == [])
    }

    @Test(arguments: ["alert", "badge", "sound", "content-available"])
    func `A key whose value is null counts as missing`(_ key: String) throws {
        #expect(try Self.contents(#"{"aps":{"\#(key)":null}}"#) == .aps)
    }

    @Test(arguments: ["0", "-1.5", "true", "false", #""""#, "{}", "[]", #"{"body":null}"#, "[null]"])
    func `A key with any other value counts as present`(_ value: String) throws {
        #expect(try Self.contents(#"{"aps":{"alert":\#(value)}}"#) == [.aps, .alert])
        #expect(try Self.contents(#"{"aps":{"badge":\#(value)}}"#) == [.aps, .badge])
        #expect(try Self.contents(#"{"aps":{"sound":\#(value)}}"#) == [.aps, .sound])
    }

    @Test(
        arguments: [
            ("1", true), ("true", true), ("0", false), ("false", false), (#""1""#, false), ("10", false), ("11", false),
            ("1.0", true), ("10e-1", true), ("0.1E1", true), ("1.00000000000000000001", false), ("1e400", false),
            ("-1", false), ("{}", false), ("[1]", false), (#"{"a":1}"#, false), (#""true""#, false), ("2", false),
        ] as [(String, Bool)])
    func `content-available counts if it is 1 or true`(_ value: String, _ counts: Bool) throws {
        let expected: Payload.Contents = counts ? [.aps, .contentAvailable] : .aps
        #expect(try Self.contents(#"{"aps":{"content-available":\#(value)}}"#) == expected)
        #expect(try Self.contents(#"{"aps":{"content-available":\#(value),"x":1}}"#) == expected)
    }

    @Test(arguments: ["null", "1", "true", #""alert""#, "[]", #"[{"alert":1}]"#])
    func `If aps is not a dictionary, there is no aps`(_ value: String) throws {
        #expect(try Self.contents(#"{"aps":\#(value),"alert":1}"#) == [])
    }

    @Test(arguments: [
        #"{"alert":1,"badge":1,"sound":1,"content-available":1,"aps":{}}"#,
        #"{"aps":{},"alert":1,"badge":1,"sound":1,"content-available":1}"#,
        #"{"aps":{"x":{"alert":1,"badge":1,"sound":1,"content-available":1}}}"#,
        #"{"aps":{"x":[{"alert":1,"content-available":1}],"y":["alert","sound"]}}"#,
        #"{"x":{"aps":{"alert":1}},"aps":{}}"#, #"{"aps":{"aps":{"alert":1}}}"#, #"{"aps":{},"x":{"alert":1}}"#,
        #"{"aps":{"x":"alert"}}"#,
    ])
    func `These keys are not counted outside of aps`(_ body: String) throws {
        #expect(try Self.contents(body) == .aps)
    }

    @Test
    func `Keys after a nested value in aps still belong to aps`() throws {
        #expect(try Self.contents(#"{"aps":{"x":{"y":[{}]},"alert":1,"z":[[]],"sound":1}}"#) == [.aps, .alert, .sound])
    }

    @Test
    func `If a key occurs twice, the last value counts, as for every other reader of a payload`() throws {
        #expect(try Self.contents(#"{"aps":{"alert":1},"aps":{"badge":1}}"#) == [.aps, .badge])
        #expect(try Self.contents(#"{"aps":{"alert":1,"alert":null}}"#) == [.aps])
        #expect(try Self.contents(#"{"aps":{"alert":null,"alert":1}}"#) == [.aps, .alert])
        #expect(try Self.contents(#"{"aps":{"content-available":1,"content-available":0}}"#) == [.aps])
        #expect(try Self.contents(#"{"aps":{"alert":1},"aps":1}"#) == [])
        #expect(try Self.contents(#"{"aps":{"alert":1},"\u0061ps":{"sound":"a"}}"#) == [.aps, .sound])
    }

    @Test(
        arguments: [
            ([.aps, .contentAvailable], true), ([.aps], false), ([], false),
            ([.aps, .contentAvailable, .alert], false), ([.aps, .contentAvailable, .badge], false),
            ([.aps, .contentAvailable, .sound], false), ([.aps, .alert], false),
        ] as [(Payload.Contents, Bool)])
    func `A notification is silent if it wakes the app and shows nothing`(
        _ contents: Payload.Contents, _ isSilent: Bool
    ) {
        #expect(Payload(stored: [], contents: contents).isSilent == isSilent)
    }
}
