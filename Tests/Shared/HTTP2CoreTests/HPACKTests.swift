import Testing

@testable import HTTP2Core

/// The rules of RFC 7541.
struct HPACKTests {
    private func decode(_ block: [UInt8], _ decoder: inout FieldDecoder) throws(Fault) -> String {
        try decoder.decode(block.span, maximum: 100_000, bomb: 100_000)
        return HPACKVectorTests.text(decoder.fields)
    }

    private func fault(_ block: [UInt8], _ prepare: (inout FieldDecoder) -> Void = { _ in }) -> String? {
        var decoder = FieldDecoder()
        prepare(&decoder)
        do throws(Fault) {
            _ = try decode(block, &decoder)
            return nil
        } catch {
            return "\(error.code) \(error.section)"
        }
    }

    private func literal(_ name: String, _ value: String) -> [UInt8] { [0x40] + Wire.text(name) + Wire.text(value) }

    // MARK: Errors

    @Test func `RFC 7541, 6.1: the index 0 is an error`() {
        #expect(fault([0x80]) == "COMPRESSION_ERROR RFC 7541, 2.3.3")
    }

    @Test func `RFC 7541, 2.3.3: indices beyond both tables are errors`() {
        #expect(fault([0xbe]) == "COMPRESSION_ERROR RFC 7541, 2.3.3")
        #expect(fault([0x7e, 0x01, 0x61]) == "COMPRESSION_ERROR RFC 7541, 2.3.3")
        #expect(fault(literal("a", "b") + [0xbf]) == "COMPRESSION_ERROR RFC 7541, 2.3.3")
        #expect(fault(literal("a", "b") + [0xbe]) == nil)
    }

    @Test(arguments: [[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]])
    func `RFC 7541, 5.1: integers that are too large, or have too many zeros, are errors`(_ block: [UInt8]) {
        #expect(fault(block) == "COMPRESSION_ERROR RFC 7541, 5.1")
    }

    @Test func `RFC 7541, 5.2: a text of Huffman code with EOS is an error`() {
        #expect(fault([0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00]) == "COMPRESSION_ERROR RFC 7541, 5.2")
    }

    @Test func `RFC 7541, 5.2: padding of eight bits and more is an error`() {
        // "a" has the code 00011. The first has three bits of padding, the second eleven.
        #expect(fault([0x00, 0x81, 0x1f, 0x00]) == nil)
        #expect(fault([0x00, 0x82, 0x1f, 0xff, 0x00]) == "COMPRESSION_ERROR RFC 7541, 5.2")
    }

    @Test func `RFC 7541, 5.2: padding that is not the beginning of EOS is an error`() {
        #expect(fault([0x00, 0x81, 0x18, 0x00]) == "COMPRESSION_ERROR RFC 7541, 5.2")
    }

    @Test func `RFC 7541, 4.2: the table's size changes only at the beginning of a block`() {
        #expect(fault([0x20, 0x82]) == nil)
        #expect(fault([0x20, 0x3f, 0xe1, 0x1f, 0x82]) == nil)
        #expect(fault([0x82, 0x20]) == "COMPRESSION_ERROR RFC 7541, 4.2")
    }

    @Test func `RFC 7541, 6.3: a size above SETTINGS_HEADER_TABLE_SIZE is an error`() {
        #expect(fault([0x3f, 0xe1, 0x1f]) == nil)
        #expect(fault([0x3f, 0xe2, 0x1f]) == "COMPRESSION_ERROR RFC 7541, 6.3")
    }

    @Test func `RFC 7541, 4.2: after a reduced limit the block has to begin with a change of the size`() {
        #expect(fault([0x82]) { $0.setLimit(100) } == "COMPRESSION_ERROR RFC 9113, 4.3.1")
        #expect(fault([]) { $0.setLimit(100) } == "COMPRESSION_ERROR RFC 9113, 4.3.1")
        #expect(fault([0x3f, 0x45, 0x82]) { $0.setLimit(100) } == nil)
    }

    // MARK: Tables

    @Test func `RFC 7541, 4.4: an entry that is larger than the table empties it`() throws {
        var decoder = FieldDecoder()
        _ = try decode(literal("a", "b"), &decoder)
        #expect(decoder.tableBytes == 34)
        _ = try decode([0x3f, 0x09] + literal("c", "ddddddddd"), &decoder)
        #expect(decoder.tableBytes == 0)
    }

    @Test func `RFC 7541, 4.4: an entry may name the entry that it evicts`() throws {
        var decoder = FieldDecoder()
        // The table has room for one entry of 34 to 40 bytes.
        _ = try decode([0x3f, 0x09] + literal("name", "a"), &decoder)
        #expect(try decode([0x7e] + Wire.text("b"), &decoder) == "name=b")
        #expect(try decode([0xbe], &decoder) == "name=b")
        #expect(decoder.tableBytes == 37)
    }

    @Test func `RFC 7541, 4.3: a smaller table evicts the oldest entries`() throws {
        var decoder = FieldDecoder()
        _ = try decode(literal("a", "1") + literal("b", "2") + literal("c", "3"), &decoder)
        // 68 bytes are two entries.
        #expect(try decode([0x3f, 0x25, 0xbe, 0xbf], &decoder) == "c=3 b=2")
        #expect(decoder.tableBytes == 68)
    }

    @Test func `RFC 7541, 2.3.2: the table is first-in, first-out over many entries`() throws {
        var table = DynamicTable(maximumSize: 400)
        for number in 0..<5_000 {
            table.insert(name: Array("n\(number)".utf8).span, value: Array("v".utf8).span)
            let entry = try #require(table[0])
            #expect(Side.text(table.bytes.span.extracting(entry.name)) == "n\(number)")
            let last = try #require(table[table.count - 1])
            let oldest = number - table.count + 1
            #expect(Side.text(table.bytes.span.extracting(last.name)) == "n\(oldest)")
            #expect(table.size <= 400)
        }
        #expect(table.bytes.count < 1_000)
    }

    @Test func `RFC 7541, 4.2: the encoder announces the smallest and the last size`() throws {
        var encoder = FieldEncoder(maximumTableBytes: 4_096)
        encoder.setPeerLimit(0)
        encoder.setPeerLimit(100)
        var output: [UInt8] = []
        encoder.encode(Side.list([(":method", "GET")]), to: &output)
        #expect(output == [0x20, 0x3f, 0x45, 0x82])
        output = []
        encoder.encode(Side.list([(":method", "GET")]), to: &output)
        #expect(output == [0x82])
    }

    @Test func `RFC 7541, 4.2: the encoder's table is not larger than our limit`() {
        var encoder = FieldEncoder(maximumTableBytes: 64)
        encoder.setPeerLimit(65_536)
        var output: [UInt8] = []
        encoder.encode(Side.list([("a", "b")]), to: &output)
        #expect(output == [0x3f, 0x21, 0x40, 0x01, 0x61, 0x01, 0x62])
    }

    @Test(arguments: [FieldForm.withoutIndexing, .neverIndexed])
    func `RFC 7541, 6.2: fields that must stay out of the table are literals, even if they are in it`(
        _ form: FieldForm
    ) {
        var encoder = FieldEncoder(maximumTableBytes: 4_096)
        var output: [UInt8] = []
        encoder.encode(Side.list([("a", "b")]), to: &output)
        output = []
        encoder.encode(Side.list([("a", "b"), (":method", "GET")], form), to: &output)
        let pattern: UInt8 = form == .neverIndexed ? 0x10 : 0
        #expect(output == [pattern | 0x0f, 0x2f, 0x01, 0x62, pattern | 2] + [0x03] + Array("GET".utf8))
        #expect(encoder.tableBytes == 34)
    }

    @Test func `RFC 7541, 2.3.2: an entry may be in the table twice`() throws {
        var decoder = FieldDecoder()
        _ = try decode(literal("a", "b") + literal("a", "b"), &decoder)
        #expect(decoder.tableBytes == 68)
        #expect(try decode([0xbe, 0xbf], &decoder) == "a=b a=b")
    }

    @Test func `RFC 7541, 6.2.3: the form of each field is passed on`() throws {
        var list = FieldList()
        for form in FieldForm.allCases { list.append(Array("a".utf8).span, Array("b".utf8).span, form) }
        var encoder = FieldEncoder(maximumTableBytes: 4_096)
        var block: [UInt8] = []
        encoder.encode(list, to: &block)
        var decoder = FieldDecoder()
        try decoder.decode(block.span, maximum: 100_000, bomb: 100_000)
        // The first one comes into the table, and the second is its index.
        #expect((0..<4).map { decoder.fields.form($0) } == [.incremental, .indexed, .withoutIndexing, .neverIndexed])
    }

    @Test(arguments: [FieldForm.withoutIndexing, .neverIndexed])
    func `RFC 7541, 6.2: a literal that stays out of the table takes its name from it`(_ form: FieldForm) throws {
        var encoder = FieldEncoder(maximumTableBytes: 4_096)
        var decoder = FieldDecoder()
        var sizes: [Int] = []
        for form in [FieldForm.incremental, form] {
            var list = FieldList()
            list.append(Array("apns-collapse-id".utf8).span, Array("0123456789".utf8).span, form)
            var block: [UInt8] = []
            encoder.encode(list, to: &block)
            try decoder.decode(block.span, maximum: 1_000, bomb: 1_000)
            #expect(decoder.fields.form(0) == form)
            #expect(decoder.fields.bytes == list.bytes)
            sizes.append(block.count)
        }
        #expect(sizes[1] < sizes[0] - 8)
    }

    // MARK: Huffman code

    @Test(arguments: [(1, false), (63, false), (64, true), (250, true)])
    func `A short value is sent as it is, and a long one in Huffman code`(count: Int, isEncoded: Bool) {
        var list = FieldList()
        list.append("x", String(repeating: "a", count: count), .withoutIndexing)
        var block: [UInt8] = []
        var encoder = FieldEncoder(maximumTableBytes: 0)
        encoder.encode(list, to: &block)
        // The table's size, the form of the field, the length of the name, the name, and the length of the value.
        #expect(block.starts(with: [0x20, 0x00, 0x01, UInt8(ascii: "x")]))
        #expect((block[4] & 0x80 != 0) == isEncoded)
    }

    @Test func `RFC 7541, appendix B: the code is complete`() {
        let total = HuffmanCode.lengths.reduce(0.0) { $0 + 1 / Double(1 << Int($1)) }
        #expect(total == 1)
        #expect(HuffmanCode.symbols.count == 257)
        // Some of the table's rows.
        let rows: [Int: UInt32] = [
            0: 0x1ff8, 1: 0x7fffd8, 10: 0x3fff_fffc, 0x30: 0x0, 0x7a: 0x7b, 0x7e: 0x1ffd, 0x7f: 0xfff_fffc,
            0x80: 0xfffe6, 0xc0: 0x3ffffe0, 0xff: 0x3ffffee, 256: 0x3fff_ffff,
        ]
        for (symbol, code) in rows { #expect(HuffmanCode.codes[symbol] == code) }
    }

    @Test func `RFC 7541, 5.2: every text is the same after encoding and decoding`() throws {
        var random = SeededRandom(seed: 7)
        for length in 0..<300 {
            let text = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            var encoded: [UInt8] = []
            HuffmanEncoder.encode(text.span, to: &encoded)
            #expect(encoded.count == HuffmanEncoder.count(text.span))
            var decoded: [UInt8] = []
            decoded.append(addingCapacity: HuffmanDecoder.maximumCount(of: encoded.count)) { output in
                #expect(HuffmanDecoder.decode(encoded.span, into: &output))
            }
            #expect(decoded == text)
        }
    }

    @Test func `RFC 7541, 3.1: every list is the same after encoding and decoding, with tables of all sizes`() throws {
        var random = SeededRandom(seed: 3)
        for _ in 0..<50 {
            var encoder = FieldEncoder(maximumTableBytes: Int.random(in: 0...500, using: &random))
            var decoder = FieldDecoder()
            for _ in 0..<20 {
                var list = FieldList()
                for _ in 0..<Int.random(in: 0...8, using: &random) {
                    let name = ["a", "b", "cookie", ":path", "x-long-name"].randomElement(using: &random) ?? ""
                    let value = String(Int.random(in: 0...20, using: &random))
                    let form = FieldForm.allCases.randomElement(using: &random) ?? .indexed
                    list.append(Array(name.utf8).span, Array(value.utf8).span, form)
                }
                var block: [UInt8] = []
                encoder.encode(list, to: &block)
                #expect(try decode(block, &decoder) == HPACKVectorTests.text(list))
                #expect(decoder.tableBytes == encoder.tableBytes)
            }
        }
    }
}

/// SplitMix64: random numbers that are the same for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
