import NIOCore
import Testing

@testable import HTTP2

/// The encoding of header fields (RFC 7541, 6), read in addition to libnghttp2.
@Suite struct HeaderFormReaderTests {
    /// `:method: POST` and `:scheme: https` from the static table; then three literals with a name from there, and one
    /// with a name and a value. The texts have lengths that cover each way to write a length.
    private static func block(_ length: Int) -> [UInt8] {
        func text(_ count: Int) -> [UInt8] {
            var bytes: [UInt8] = count < 127 ? [UInt8(count)] : [127]
            if count >= 127 {
                var rest = count - 127
                while rest >= 128 {
                    bytes.append(UInt8(rest & 0x7f | 0x80))
                    rest >>= 7
                }
                bytes.append(UInt8(rest))
            }
            return bytes + [UInt8](repeating: UInt8(ascii: "a"), count: count)
        }
        return [0x83, 0x87] + [0x04] + text(1) + [0x41] + text(2) + [0x1f, 0x08] + text(3) + [0x00]
            + text(max(1, length))
            + text(length)
    }

    private static let forms: [HeaderForm] = [
        .indexed, .indexed, .withoutIndexing, .incremental, .neverIndexed, .withoutIndexing,
    ]

    private static func read(_ bytes: [UInt8], by step: Int) -> [HeaderForm] {
        var reader = HeaderFormReader()
        var forms: [HeaderForm] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { reader.read($0) }
            forms += reader.forms.map(\.form)
        }
        return forms
    }

    @Test(arguments: [0, 1, 126, 127, 128, 254, 255, 300, 2000], [1, 2, 7, 100_000])
    func `Every form is told`(length: Int, step: Int) {
        let frames = WireFrame.settings().bytes + WireFrame.headers(1, Self.block(length)).bytes
        #expect(Self.read(WireFrame.preface + frames, by: step) == Self.forms)
    }

    @Test(arguments: [1, 3, 100_000]) func `Padding and priority are no fields`(step: Int) {
        let block = Self.block(5)
        let padded = WireFrame(
            type: WireFrame.headers, flags: WireFrame.endHeaders | 0x28, stream: 1,
            payload: [3, 0, 0, 0, 0, 16] + block + [0x83, 0x83, 0x83])
        let more = WireFrame.headers(3, [0x83])
        #expect(
            Self.read(WireFrame.preface + padded.bytes + more.bytes, by: step) == Self.forms + [.indexed])
    }

    @Test(arguments: [1, 100_000]) func `A block goes on in its continuations`(step: Int) {
        let block = Self.block(300)
        for cut in [0, 1, 3, 4, 10, block.count] {
            let first = WireFrame(type: WireFrame.headers, flags: 0, stream: 1, payload: Array(block[..<cut]))
            let rest = WireFrame(
                type: WireFrame.continuation, flags: WireFrame.endHeaders, stream: 1, payload: Array(block[cut...]))
            #expect(Self.read(WireFrame.preface + first.bytes + rest.bytes, by: step) == Self.forms)
        }
    }

    @Test func `A change of the table is no field`() {
        let frame = WireFrame.headers(1, [0x3f, 0xe1, 0x1f] + Self.block(1))
        #expect(Self.read(WireFrame.preface + frame.bytes, by: 1) == Self.forms)
    }

    @Test func `What the library passes over is forgotten`() {
        var reader = HeaderFormReader()
        let bytes =
            WireFrame.preface + WireFrame.headers(1, [0x83, 0x87]).bytes
            + WireFrame.headers(3, [0x04, 0x01, 0x61]).bytes
        bytes.withUnsafeBytes { reader.read($0) }
        #expect(reader.next(of: StreamID(3)) == .withoutIndexing)
        #expect(reader.next(of: StreamID(1)) == nil)
    }

    @Test func `A number without an end is not followed`() {
        var reader = HeaderFormReader()
        let frame = WireFrame.headers(1, [0xff] + [UInt8](repeating: 0xff, count: 100))
        (WireFrame.preface + frame.bytes).withUnsafeBytes { reader.read($0) }
        #expect(reader.isLost)
        frame.bytes.withUnsafeBytes { reader.read($0) }
        #expect(reader.next(of: StreamID(1)) == nil)
    }

    @Test func `The application is told where it wants to know`() throws {
        for isObserved in [true, false] {
            let peer = try EmbeddedPeer.connected { $0.observesEncoding = isObserved }
            try peer.send(.request(1, endStream: true))
            let priority = WireFrame(type: WireFrame.priority, flags: 0, stream: 3, payload: [0, 0, 0, 0, 16])
            try peer.send(priority)
            let encoded = peer.recorder.encodings.map(\.name)
            #expect(encoded == (isObserved ? peer.recorder.headerNames : []))
            #expect(peer.recorder.priorities == [3])
        }
    }
}
