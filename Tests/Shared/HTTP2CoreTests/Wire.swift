/// Makes frames and field blocks byte by byte, without the code under test.
enum Wire {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static let data: UInt8 = 0, headers: UInt8 = 1, priority: UInt8 = 2, rstStream: UInt8 = 3, settings: UInt8 = 4
    static let pushPromise: UInt8 = 5, ping: UInt8 = 6, goAway: UInt8 = 7, windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    static let endStream: UInt8 = 1, ack: UInt8 = 1, endHeaders: UInt8 = 4, padded: UInt8 = 8, hasPriority: UInt8 = 32

    /// A whole frame. The length can be another one than the payload's.
    static func frame(
        _ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
    ) -> [UInt8] {
        let length = UInt32(length ?? payload.count)
        return Array(word(length).dropFirst()) + [type, flags] + word(stream) + payload
    }

    static func word(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 0xff), UInt8(number >> 8 & 0xff), UInt8(number & 0xff)]
    }

    static func setting(_ number: UInt16, _ value: UInt32) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 0xff)] + word(value)
    }

    static func settings(_ entries: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(settings, 0, 0, entries.flatMap { setting($0.0, $0.1) })
    }

    static let settingsAck = frame(settings, ack)

    /// A text without Huffman code (RFC 7541, 5.2), shorter than 127 bytes.
    static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// A field block of literals without indexing (RFC 7541, 6.2.2). A byte above 0x7f in a text stands for itself.
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in
            let (name, value) = (latin1(name), latin1(value))
            return [0x00, UInt8(name.count)] + name + [UInt8(value.count)] + value
        }
    }

    private static func latin1(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    static func headers(
        _ stream: UInt32, _ fields: [(String, String)], endStream: Bool = true, endHeaders: Bool = true
    ) -> [UInt8] {
        let flags = (endStream ? Self.endStream : 0) | (endHeaders ? Self.endHeaders : 0)
        return frame(headers, flags, stream, block(fields))
    }

    static let get = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a")]
    static let post = [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "a")]

    static func data(_ stream: UInt32, _ text: String, endStream: Bool = false) -> [UInt8] {
        frame(data, endStream ? Self.endStream : 0, stream, Array(text.utf8))
    }

    static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] { frame(rstStream, 0, stream, word(code)) }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(windowUpdate, 0, stream, word(increment))
    }

    static func ping(_ byte: UInt8 = 7, isAck: Bool = false) -> [UInt8] {
        frame(ping, isAck ? ack : 0, 0, [0, 0, 0, 0, 0, 0, 0, byte])
    }

    static func goAway(_ last: UInt32, _ code: UInt32 = 0, debug: String = "") -> [UInt8] {
        frame(goAway, 0, 0, word(last) + word(code) + Array(debug.utf8))
    }

    /// The frames of an output, as short texts.
    static func describe(_ bytes: [UInt8]) -> [String] {
        var rest = bytes[...]
        var frames: [String] = []
        if rest.starts(with: preface) {
            frames.append("preface")
            rest = rest.dropFirst(preface.count)
        }
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let payload = Array(rest.dropFirst(9).prefix(length))
            rest = rest.dropFirst(9 + length)
            frames.append(describe(head, payload))
        }
        if !rest.isEmpty { frames.append("\(rest.count) more bytes") }
        return frames
    }

    private static func describe(_ head: [UInt8], _ payload: [UInt8]) -> String {
        let (type, flags) = (head[3], head[4])
        let stream = number(head, 5)
        let end = flags & endStream != 0 ? " end" : ""
        switch type {
        case data: return "DATA \(stream) \(payload.count)\(end)"
        case headers: return "HEADERS \(stream)\(end)"
        case rstStream: return "RST_STREAM \(stream) \(number(payload, 0))"
        case settings where flags & ack != 0: return "SETTINGS ack"
        case settings:
            let entries = stride(from: 0, to: payload.count, by: 6).map {
                "\(Int(payload[$0]) << 8 | Int(payload[$0 + 1]))=\(number(payload, $0 + 2))"
            }
            return (["SETTINGS"] + entries).joined(separator: " ")
        case ping: return "PING \(payload[7])\(flags & ack != 0 ? " ack" : "")"
        case goAway: return "GOAWAY \(number(payload, 0)) \(number(payload, 4))"
        case windowUpdate: return "WINDOW_UPDATE \(stream) \(number(payload, 0))"
        case continuation: return "CONTINUATION \(stream)"
        default: return "type \(type)"
        }
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
