@testable import ServiceTesting

/// Frames of HTTP/2 that a test sends byte by byte (RFC 9113, 4.1).
enum Frames {
    /// The client's preface, and empty SETTINGS (RFC 9113, 3.4).
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(type: 4, flags: 0, stream: 0, [])

    static func frame(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xff), type, flags, 0, 0, 0, stream] + payload
    }

    /// `:scheme: https`, `:path: /` and `:authority: x`, as RFC 7541, appendix A, numbers them.
    private static let fields: [UInt8] = [0x87, 0x84, 0x41, 1, UInt8(ascii: "x")]

    static func get(stream: UInt8) -> [UInt8] { frame(type: 1, flags: 5, stream: stream, [0x82] + fields) }

    /// A POST whose body follows after 100 (Continue).
    static func expecting(stream: UInt8) -> [UInt8] {
        let value = Array("100-continue".utf8)
        return frame(type: 1, flags: 4, stream: stream, [0x83] + fields + [0x0f, 20, UInt8(value.count)] + value)
    }

    /// Reads frames to the next HEADERS.
    static func nextFields(_ client: ByteClient) async throws -> (endsStream: Bool, block: [UInt8]) {
        while true {
            let head = try required(await client.read(9))
            let payload = try required(await client.read(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])))
            if head[3] == 1 { return (head[4] & 1 == 1, payload) }
        }
    }
}
