import Testing

@testable import HTTP2Core

/// The examples of RFC 7541, appendix C.
struct HPACKVectorTests {
    struct Step: Sendable {
        let bytes: String
        let fields: String
        /// The size of the table afterwards.
        let tableBytes: Int
    }

    struct Example: Sendable, CustomTestStringConvertible {
        let section: String
        var tableLimit = 4_096
        let steps: [Step]
        var testDescription: String { "RFC 7541, \(section)" }
    }

    private static let requests = [
        ":method=GET :scheme=http :path=/ :authority=www.example.com",
        ":method=GET :scheme=http :path=/ :authority=www.example.com cache-control=no-cache",
        ":method=GET :scheme=https :path=/index.html :authority=www.example.com custom-key=custom-value",
    ]
    private static let date = "date=Mon, 21 Oct 2013 20:13:21 GMT"
    private static let location = "location=https://www.example.com"
    private static let responses = [
        ":status=302 cache-control=private \(date) \(location)",
        ":status=307 cache-control=private \(date) \(location)",
        ":status=200 cache-control=private date=Mon, 21 Oct 2013 20:13:22 GMT \(location) content-encoding=gzip "
            + "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ]

    private static func steps(_ bytes: [String], _ fields: [String], _ sizes: [Int]) -> [Step] {
        zip(bytes, zip(fields, sizes)).map { Step(bytes: $0, fields: $1.0, tableBytes: $1.1) }
    }

    static let examples: [Example] = [
        Example(
            section: "C.2.1",
            steps: [
                Step(
                    bytes: "400a637573746f6d2d6b65790d637573746f6d2d686561646572", fields: "custom-key=custom-header",
                    tableBytes: 55)
            ]),
        Example(
            section: "C.2.2",
            steps: [Step(bytes: "040c2f73616d706c652f70617468", fields: ":path=/sample/path", tableBytes: 0)]),
        Example(
            section: "C.2.3",
            steps: [Step(bytes: "100870617373776f726406736563726574", fields: "password=secret", tableBytes: 0)]),
        Example(section: "C.2.4", steps: [Step(bytes: "82", fields: ":method=GET", tableBytes: 0)]),
        Example(
            section: "C.3",
            steps: steps(
                [
                    "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
                    "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
                ], requests, [57, 110, 164])),
        Example(
            section: "C.4",
            steps: steps(
                [
                    "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
                    "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
                ], requests, [57, 110, 164])),
        Example(
            section: "C.5", tableLimit: 256,
            steps: steps(
                [
                    "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54"
                        + "6e1768747470733a2f2f7777772e6578616d706c652e636f6d",
                    "4803333037c1c0bf",
                    "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d"
                        + "4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076"
                        + "657273696f6e3d31",
                ], responses, [222, 222, 215])),
        Example(
            section: "C.6", tableLimit: 256,
            steps: steps(
                [
                    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8"
                        + "e9ae82ae43d3",
                    "4883640effc1c0bf",
                    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b"
                        + "3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
                ], responses, [222, 222, 215])),
    ]

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    static func text(_ list: FieldList) -> String {
        var fields: [String] = []
        list.forEach { name, value, _ in fields.append(Side.text(name) + "=" + Side.text(value)) }
        return fields.joined(separator: " ")
    }

    @Test(arguments: examples) func `The example is decoded`(_ example: Example) throws {
        var decoder = FieldDecoder()
        decoder.setLimit(example.tableLimit)
        for (number, step) in example.steps.enumerated() {
            var block = Self.bytes(step.bytes)
            // The examples of responses assume that the table has the smaller size already.
            if number == 0, example.tableLimit < 4_096 { block = [0x3f, 0xe1, 0x01] + block }
            try decoder.decode(block.span, maximum: 8_000, bomb: 8_000)
            #expect(Self.text(decoder.fields) == step.fields)
            #expect(decoder.tableBytes == step.tableBytes)
        }
    }

    @Test func `RFC 7541, C.4: the encoder writes the same bytes`() throws {
        var encoder = FieldEncoder(maximumTableBytes: 4_096, shortestHuffman: 0)
        let example = try #require(Self.examples.first { $0.section == "C.4" })
        for step in example.steps {
            let fields = step.fields.split(separator: " ").map { field in
                let parts = field.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), String(parts[1]))
            }
            var output: [UInt8] = []
            encoder.encode(Side.list(fields), to: &output)
            #expect(output == Self.bytes(step.bytes))
            #expect(encoder.tableBytes == step.tableBytes)
        }
    }

    @Test(arguments: [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 7, "2a")])
    func `RFC 7541, C.1: integers`(_ example: (Int, UInt8, String)) throws {
        var output: [UInt8] = []
        PrefixInteger.write(example.0, prefix: example.1, pattern: 0, to: &output)
        #expect(output == Self.bytes(example.2))
        var offset = 0
        #expect(try PrefixInteger.read(output.span, at: &offset, prefix: example.1) == example.0)
        #expect(offset == output.count)
    }

    @Test(arguments: [
        (FieldForm.indexed, "82"), (.incremental, "400161016f"), (.withoutIndexing, "000161016f"),
        (.neverIndexed, "100161016f"),
    ])
    func `RFC 7541, 6: the form of each field is visible`(_ example: (FieldForm, String)) throws {
        var decoder = FieldDecoder()
        try decoder.decode(Self.bytes(example.1).span, maximum: 8_000, bomb: 8_000)
        #expect(decoder.fields.form(0) == example.0)
    }
}
