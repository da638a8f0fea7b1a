import Testing

@testable import HTTP2Core

/// Fields that are the same as in the request before are neither decoded nor checked again. Nobody may notice.
struct RepeatedFieldsTests {
    private let server = Side.server()

    /// A literal without indexing, whose name and value are as they are.
    private static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0x00] + Wire.text(name) + Wire.text(value)
    }

    private static let token = literal("authorization", "bearer abc")
    private static let request = Wire.block(Wire.get) + token

    private func isTokenRepeated(_ stream: UInt32, _ block: [UInt8] = request) -> Bool? {
        let events = server.receive(Wire.frame(Wire.headers, 5, stream, block))
        guard events.first?.hasPrefix("request \(stream)") == true else { return nil }
        return server.list.isRepeated(server.list.count - 1)
    }

    // MARK: What repeats

    @Test func `A field without indexing repeats the one in its place of the request before`() {
        #expect(isTokenRepeated(1) == false)
        #expect(isTokenRepeated(3) == true)
        #expect(server.fields.hasSuffix("authorization=bearer abc"))
        #expect(isTokenRepeated(5, Wire.block(Wire.get) + Self.literal("authorization", "bearer abd")) == false)
        #expect(isTokenRepeated(7) == false)
    }

    @Test func `A field in another place, or in another form, repeats nothing`() {
        _ = isTokenRepeated(1)
        #expect(isTokenRepeated(3, Wire.block(Wire.get) + Self.literal("a", "b") + Self.token) == false)
        #expect(isTokenRepeated(5) == false)
        #expect(isTokenRepeated(7, Wire.block(Wire.get) + [0x10] + Self.token.dropFirst()) == false)
        #expect(server.list.form(server.list.count - 1) == .neverIndexed)
    }

    /// A field that enters the dynamic table (RFC 7541, 6.2.1).
    private static let indexed: [UInt8] = [0x40] + Wire.text("a") + Wire.text("b")

    @Test func `What changes the dynamic table repeats nothing`() {
        for stream in [1, 3, 5] as [UInt32] {
            #expect(isTokenRepeated(stream, Wire.block(Wire.get) + Self.indexed) == false)
        }
    }

    @Test(arguments: [
        // The index of a field, and a name that is an index above 61 (RFC 7541, 2.3.3).
        [0xbe], [0x0f, 0x2f] + Wire.text("c"),
    ])
    func `What reads the dynamic table repeats the field before if the table is as it was`(field: [UInt8]) {
        let reading = Wire.block(Wire.get) + field
        _ = isTokenRepeated(1, Wire.block(Wire.get) + Self.indexed)
        #expect(isTokenRepeated(3, reading) == false)
        #expect(isTokenRepeated(5, reading) == true)
        // The same index means another entry now.
        let changing = Wire.block(Wire.get) + field + [0x40] + Wire.text("a") + Wire.text("d")
        _ = server.receive(Wire.frame(Wire.headers, 5, 7, changing))
        #expect(isTokenRepeated(9, reading) == false)
        #expect(server.fields.contains(field.count == 1 ? "a=d" : "a=c"))
        #expect(isTokenRepeated(11, reading) == true)
        // A change of the table's size may remove the entry.
        #expect(isTokenRepeated(13, [0x3f, 0xe1, 0x1f] + reading) == false)
    }

    @Test func `Bytes are compared up to the first that differs`() {
        for count in 0...20 {
            let bytes = (0..<UInt8(count)).map { $0 }
            #expect(bytes.span.commonPrefix(with: bytes.span) == count)
            #expect(bytes.span.commonPrefix(with: (bytes + [1]).span) == count)
            for index in 0..<count {
                var other = bytes
                other[index] ^= 0x80
                #expect(bytes.span.commonPrefix(with: other.span) == index)
            }
        }
    }

    @Test func `A repeated field stays when those before it become shorter, longer, more or fewer`() {
        let literals = [("x-a", 3), ("x-a", 9), ("x-a", 1), ("x-bcd", 40), ("x-a", 3)]
        for (stream, (name, count)) in zip(stride(from: UInt32(1), to: 99, by: 2), literals) {
            let changed = Self.literal(name, String(repeating: "v", count: count))
            let isFirst = stream == 1
            #expect(isTokenRepeated(stream, Wire.block(Wire.get) + changed + Self.token) == !isFirst)
            #expect(server.fields.hasSuffix("\(name)=\(String(repeating: "v", count: count)) authorization=bearer abc"))
        }
        #expect(isTokenRepeated(21) == false)
        #expect(server.fields.hasSuffix("authorization=bearer abc"))
        #expect(!server.fields.contains("x-a"))
    }

    // MARK: What is forgotten

    @Test func `After a malformed request nothing repeats, and what follows its fault is checked`() {
        _ = isTokenRepeated(1)
        let malformed = Wire.block(Wire.get) + Self.token + Self.literal("A", "b") + Self.literal("c", "\u{1}")
        for stream in [3, 5] as [UInt32] {
            #expect(server.receive(Wire.frame(Wire.headers, 5, stream, malformed)).first?.hasPrefix("refused") == true)
        }
        #expect(isTokenRepeated(7) == false)
        let late = Wire.block(Wire.get) + Self.token + Self.literal("a", "b") + Self.literal("c", "\u{1}")
        #expect(server.receive(Wire.frame(Wire.headers, 5, 9, late)).first?.hasPrefix("refused") == true)
    }

    @Test func `After trailers, a list that is too large, and fields of a closed stream nothing repeats`() {
        let long = Self.literal("a", String(repeating: "b", count: 100))
        let large = Wire.block(Wire.get) + Self.token + (0..<100).flatMap { _ in long }
        _ = server.receive(Wire.frame(Wire.headers, 4, 1, Self.request))
        for (stream, between) in [
            (UInt32(3), Wire.frame(Wire.headers, 5, 1, Self.literal("a", "b"))),
            (7, Wire.frame(Wire.headers, 5, 5, large)), (9, Wire.frame(Wire.headers, 5, 1, Self.literal("a", "b"))),
        ] {
            _ = server.receive(between)
            #expect(isTokenRepeated(stream) == false)
        }
        #expect(isTokenRepeated(11) == true)
    }

    @Test func `An idle endpoint keeps no fields`() {
        for stream in [1, 3] as [UInt32] { _ = isTokenRepeated(stream) }
        _ = server.output()
        #expect(server.knownCapacity > 0)
        server.endpoint.releaseIdleMemory()
        #expect(server.knownCapacity == 0)
        #expect(isTokenRepeated(5) == false)
        #expect(isTokenRepeated(7) == true)
    }

    @Test func `However large the fields are, and however many, no more than 4 KiB are kept`() {
        var stream: UInt32 = 1
        for (number, count) in [(1, 10), (1, 700), (1, 1_500), (1, 2_040), (1, 3_000), (10, 300), (31, 50), (100, 5)] {
            // "~" is longer in Huffman code, so it is sent as it is.
            let value = String(repeating: "~", count: count)
            var list = Side.list(Wire.get)
            for _ in 0..<number { list.append("a", value, .withoutIndexing) }
            for _ in 0..<3 {
                var block: [UInt8] = []
                var encoder = FieldEncoder(maximumTableBytes: 0)
                encoder.encode(list, to: &block)
                _ = server.receive(Wire.frame(Wire.headers, 5, stream, block))
                stream += 2
                #expect(server.knownCapacity <= 4_096)
            }
        }
    }

    @Test func `A field that is there twice is still malformed, and content-length is still compared`() {
        let block = Wire.block(Wire.post) + Self.literal("content-length", "3")
        for stream in [1, 3] as [UInt32] {
            #expect(server.receive(Wire.frame(Wire.headers, 4, stream, block)).first?.hasPrefix("request") == true)
            #expect(server.receive(Wire.data(stream, "abcd")) == ["closed \(stream) PROTOCOL_ERROR (RFC 9113, 8.1.1)"])
        }
        let path = Self.literal(":path", "/")
        for stream in [5, 7] as [UInt32] {
            let twice = Wire.block(Wire.get) + path
            #expect(server.receive(Wire.frame(Wire.headers, 5, stream, twice)).first?.hasPrefix("refused") == true)
        }
    }

    // MARK: Random blocks

    /// Blocks that repeat, almost repeat, and repeat after a fault.
    private struct Blocks {
        var random: SeededRandom
        var encoder = FieldEncoder(maximumTableBytes: 4_096)
        var fields: [(name: String, value: String, form: FieldForm)] = [
            (":method", "POST", .indexed), (":scheme", "https", .indexed),
            (":path", "/3/device/00aa11", .withoutIndexing),
            (":authority", "example.com", .withoutIndexing),
            ("authorization", "bearer eyJhbGciOiJFUzI1", .neverIndexed),
            ("apns-topic", "com.example.app", .withoutIndexing), ("apns-id", "8b1e5b4a-9c0c", .withoutIndexing),
        ]
        var last: [UInt8] = []

        mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

        mutating func next() -> [UInt8] {
            var changed = fields
            let index = number(changed.count)
            switch number(10) {
            case 0...3: break
            case 4: changed[index].value = "x\(number(5))"
            case 5:
                changed[index].form = FieldForm.allCases[number(4)]
                fields = changed
            case 6:
                changed.append(
                    (
                        ["Upper", "a b", "connection", "te", "x"][number(5)], ["a\u{1}", "ok"][number(2)],
                        .withoutIndexing
                    ))
            case 7: changed.remove(at: index)
            case 8: changed.swapAt(index, number(changed.count))
            default:
                // One bit, which may be of the padding, of a length or of the form.
                guard !last.isEmpty else { break }
                var bytes = last
                bytes[number(bytes.count)] ^= 1 << UInt8(number(8))
                return bytes
            }
            var list = FieldList()
            for field in changed { list.append(Array(field.name.utf8).span, Array(field.value.utf8).span, field.form) }
            last = []
            encoder.encode(list, to: &last)
            return last
        }
    }

    /// What a decoder and the rules say to a block.
    private static func read(
        _ block: [UInt8], _ decoder: inout FieldDecoder
    ) -> (text: String, isValid: Bool, isEnd: Bool) {
        do throws(Fault) {
            try decoder.decode(block.span, maximum: 600, bomb: 4_800)
        } catch {
            return (error.description, false, true)
        }
        let list = decoder.fields
        var text = HPACKVectorTests.text(list) + (0..<list.count).map { " \(list.form($0))" }.joined()
        do throws(Fault) {
            _ = try MessageRules.check(list, as: .request, isComplete: !decoder.isTooLarge, allowsBlanks: true)
            return (text, !decoder.isTooLarge, false)
        } catch {
            text += error.description
            return (text, false, false)
        }
    }

    @Test(arguments: 0..<40) func `A decoder that compares fields says the same as one that decodes all`(part: Int) {
        for seed in 0..<25 {
            var blocks = Blocks(random: SeededRandom(seed: UInt64(part * 1_000 + seed)))
            var (comparing, decoding) = (FieldDecoder(), FieldDecoder())
            for step in 0..<40 {
                let block = blocks.next()
                let (ours, other) = (Self.read(block, &comparing), Self.read(block, &decoding))
                #expect(ours == other, "part \(part), seed \(seed), step \(step)")
                guard !ours.isEnd, ours == other else { break }
                if ours.isValid { comparing.keepFields(of: block.span) }
            }
        }
    }

    @Test(arguments: 0..<20) func `The core and libnghttp2 read the same`(part: Int) {
        for seed in 0..<10 {
            var blocks = Blocks(random: SeededRandom(seed: UInt64(500_000 + part * 1_000 + seed)))
            let pair = Pair(.server)
            for frame in [Wire.preface, Wire.settings(), Wire.settingsAck] { _ = pair.receive(frame) }
            for step in 0..<40 {
                let frame = Wire.frame(Wire.headers, 5, UInt32(step * 2 + 1), blocks.next())
                let (comparison, isEnd) = pair.receive(frame)
                guard comparison.ours.isSame(as: comparison.library) else {
                    if DeliberateDifference.all.contains(where: { $0.explains(comparison) }) { break }
                    Issue.record("part \(part), seed \(seed), step \(step): \(comparison.ours) \(comparison.library)")
                    break
                }
                if isEnd { break }
            }
        }
    }
}
