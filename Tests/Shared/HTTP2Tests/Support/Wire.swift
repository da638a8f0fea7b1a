import NIOCore

@testable import HTTP2

/// Frames that are written and parsed by hand, so that the tests do not rely on the library that they test.
struct WireFrame: Equatable, CustomStringConvertible {
    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static let data: UInt8 = 0, headers: UInt8 = 1, priority: UInt8 = 2, reset: UInt8 = 3, settings: UInt8 = 4
    static let ping: UInt8 = 6, goAway: UInt8 = 7, windowUpdate: UInt8 = 8, continuation: UInt8 = 9
    static let endStream: UInt8 = 1, acknowledge: UInt8 = 1, endHeaders: UInt8 = 4

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    var bytes: [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
            + word(stream) + payload
    }

    var description: String { "frame(type \(type), flags \(flags), stream \(stream), \(payload.count) bytes)" }

    /// A 32-bit number of the payload.
    func number(at offset: Int = 0) -> UInt32 {
        payload.count >= offset + 4 ? payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } : 0
    }

    /// The settings of a SETTINGS frame, by number.
    var settings: [UInt16: UInt32] {
        var result: [UInt16: UInt32] = [:]
        for offset in stride(from: 0, to: payload.count - 5, by: 6) {
            result[UInt16(payload[offset]) << 8 | UInt16(payload[offset + 1])] = number(at: offset + 2)
        }
        return result
    }

    /// The debug data of a GOAWAY.
    var debugData: String { String(decoding: payload.dropFirst(8), as: UTF8.self) }

    static func parse(_ bytes: [UInt8]) -> [WireFrame] {
        var bytes = bytes[...]
        if bytes.starts(with: preface) { bytes = bytes.dropFirst(preface.count) }
        var frames: [WireFrame] = []
        while bytes.count >= 9 {
            let head = Array(bytes.prefix(9))
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard bytes.count >= 9 + count else { break }
            let stream = head[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
            frames.append(
                WireFrame(
                    type: head[3], flags: head[4], stream: UInt32(stream),
                    payload: Array(bytes.dropFirst(9).prefix(count))))
            bytes = bytes.dropFirst(9 + count)
        }
        return frames
    }
}

func word(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
}

extension WireFrame {
    static func settings(_ values: [(UInt16, UInt32)] = []) -> WireFrame {
        WireFrame(
            type: settings, payload: values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + word($0.1) })
    }

    static let settingsAcknowledgement = WireFrame(type: settings, flags: acknowledge)

    static func ping(_ payload: UInt64, acknowledge: Bool = false) -> WireFrame {
        WireFrame(
            type: ping, flags: acknowledge ? Self.acknowledge : 0,
            payload: word(UInt32(payload >> 32)) + word(UInt32(payload & 0xffff_ffff)))
    }

    static func reset(_ stream: UInt32, _ code: HTTP2ErrorCode = .cancel) -> WireFrame {
        WireFrame(type: reset, stream: stream, payload: word(code.rawValue))
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> WireFrame {
        WireFrame(type: windowUpdate, stream: stream, payload: word(increment))
    }

    static func goAway(_ last: UInt32, _ code: HTTP2ErrorCode, _ debug: String = "") -> WireFrame {
        WireFrame(
            type: goAway, payload: word(last) + word(code.rawValue) + Array(debug.utf8))
    }

    static func data(_ stream: UInt32, _ text: String = "", endStream: Bool = false) -> WireFrame {
        WireFrame(type: data, flags: endStream ? Self.endStream : 0, stream: stream, payload: Array(text.utf8))
    }

    static func headers(
        _ stream: UInt32, _ block: [UInt8], endStream: Bool = false, endHeaders: Bool = true
    )
        -> WireFrame
    {
        WireFrame(
            type: headers, flags: (endStream ? Self.endStream : 0) | (endHeaders ? Self.endHeaders : 0),
            stream: stream, payload: block)
    }

    /// POST /3/device/00, with further fields after the pseudo-header fields.
    static func request(_ stream: UInt32, _ more: [(String, String)] = [], endStream: Bool = false) -> WireFrame {
        headers(stream, requestBlock + more.flatMap { literal($0.0, $0.1) }, endStream: endStream)
    }

    /// `:method: POST` and `:scheme: https` from the static table (RFC 7541, appendix A), the others as literals.
    static let requestBlock: [UInt8] =
        [0x83, 0x87] + literal(":path", "/3/device/00") + literal(":authority", "localhost")
}

/// A literal field that is not indexed, without Huffman coding (RFC 7541, 6.2.2).
func literal(_ name: String, _ value: String) -> [UInt8] {
    [0x00] + string(name) + string(value)
}

/// A literal field that enters the dynamic table (RFC 7541, 6.2.1).
func indexedLiteral(_ name: String, _ value: String) -> [UInt8] {
    [0x40] + string(name) + string(value)
}

private func string(_ text: String) -> [UInt8] {
    integer(text.utf8.count) + Array(text.utf8)
}

/// An integer with a prefix of seven bits (RFC 7541, 5.1).
private func integer(_ value: Int) -> [UInt8] {
    guard value >= 127 else { return [UInt8(value)] }
    var bytes: [UInt8] = [127]
    var rest = value - 127
    while rest >= 128 {
        bytes.append(UInt8(rest & 127 | 128))
        rest >>= 7
    }
    return bytes + [UInt8(rest)]
}
