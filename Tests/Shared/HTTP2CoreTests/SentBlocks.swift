@testable import HTTP2Core

/// Decodes the field blocks that one side sends, as the peer that has announced the size of the table.
struct SentBlocks {
    private var decoder = FieldDecoder()

    /// The fields of each block in the output.
    /// - Parameter frame: what the peer has sent before.
    mutating func decode(_ output: [UInt8], after frame: [UInt8]) -> [String] {
        var texts: [String] = []
        var block: [UInt8] = []
        Self.forEachFrame(output) { type, flags, stream, payload in
            switch type {
            case Wire.settings where flags & Wire.ack != 0:
                // RFC 7541, 4.2: a smaller table is in force, and the next block has to begin with the change.
                for size in Self.tableSizes(frame) { decoder.setLimit(size) }
            case Wire.headers, Wire.continuation:
                block += type == Wire.headers && flags & Wire.hasPriority != 0 ? payload.dropFirst(5) : payload
                guard flags & Wire.endHeaders != 0 else { return }
                texts.append("fields \(stream) " + text(block))
                block = []
            default: break
            }
        }
        return texts
    }

    private mutating func text(_ block: [UInt8]) -> String {
        do throws(Fault) {
            try decoder.decode(block.span, maximum: 100_000, bomb: 100_000)
            return HPACKVectorTests.text(decoder.fields)
        } catch {
            return "\(error)"
        }
    }

    /// SETTINGS_HEADER_TABLE_SIZE in the SETTINGS of some bytes.
    private static func tableSizes(_ bytes: [UInt8]) -> [Int] {
        var sizes: [Int] = []
        forEachFrame(bytes) { type, flags, _, payload in
            guard type == Wire.settings, flags & Wire.ack == 0 else { return }
            for offset in stride(from: payload.startIndex, through: payload.endIndex - 6, by: 6)
            where payload[offset] == 0 && payload[offset + 1] == 1 {
                sizes.append(payload[offset + 2..<offset + 6].reduce(0) { $0 << 8 | Int($1) })
            }
        }
        return sizes
    }

    /// Calls `body` with each frame that is complete.
    private static func forEachFrame(
        _ bytes: [UInt8], _ body: (_ type: UInt8, _ flags: UInt8, _ stream: Int, _ payload: ArraySlice<UInt8>) -> Void
    ) {
        var rest = bytes[...]
        if rest.starts(with: Wire.preface) { rest = rest.dropFirst(Wire.preface.count) }
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            rest = rest.dropFirst(9)
            guard rest.count >= length else { return }
            body(head[3], head[4], head[5..<9].reduce(0) { $0 << 8 | Int($1) }, rest.prefix(length))
            rest = rest.dropFirst(length)
        }
    }
}
