import NIOCore
import Testing

@testable import HTTP2

/// What is asked for before it is gone through: the right memory, and nothing changes by it.
@Suite(.timeLimit(.minutes(1))) struct PrefetchTests {
    private static func lines(_ list: PrefetchList) -> [UInt] {
        var lines: [UInt] = []
        list.forEachLine { lines.append($0) }
        return lines
    }

    @Test(arguments: [
        (0x1000, 64, [0x1000]), (0x1000, 65, [0x1000, 0x1040]), (0x103f, 2, [0x1000, 0x1040]), (0x1020, 8, [0x1000]),
        (0x1000, 0, []), (0x1000, -1, []), (0, 64, []),
    ])
    func `A piece is asked for by its lines, whole ones`(start: UInt, bytes: Int, expected: [UInt]) {
        var list = PrefetchList()
        list.add(UnsafeRawPointer(bitPattern: start), bytes: bytes)
        #expect(Self.lines(list) == expected)
    }

    @Test func `Of a piece that is too long its beginning is asked for`() {
        var list = PrefetchList()
        list.add(UnsafeRawPointer(bitPattern: 0x1000), bytes: 1 << 20)
        #expect(Self.lines(list) == (0..<255).map { 0x1000 + $0 * 64 })
    }

    @Test func `What a list has no room for is left out, of another list as well`() {
        func full(from start: UInt) -> PrefetchList {
            var list = PrefetchList()
            for piece in 0..<100 as Range<UInt> {
                list.add(UnsafeRawPointer(bitPattern: start + piece * 4096), bytes: 1)
            }
            return list
        }
        var list = full(from: 0x10_0000)
        let before = Self.lines(list)
        list.add(full(from: 0x90_0000))
        #expect(before.first == 0x10_0000 && before.count < 100)
        #expect(Self.lines(list) == before)
        var short = PrefetchList()
        short.add(full(from: 0x90_0000))
        #expect(Self.lines(short) == Self.lines(full(from: 0x90_0000)))
    }

    /// A server with one open stream, whose answer has begun.
    private func peerWithStream() throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer.connected { $0.rest = .asked }
        try peer.send(.request(1, endStream: false))
        peer.session.sendHeaders(StreamID(1), .status("200"), endStream: false)
        _ = try peer.received()
        return peer
    }

    @Test func `What writing goes through has the session, libnghttp2's session and stream, and the frame`() throws {
        let peer = try peerWithStream()
        let library = try #require(peer.session.library)
        let stream = try #require(peer.session.libraryStream(StreamID(1)))
        let memory = try #require(peer.session.memory)
        let own = Unmanaged.passUnretained(peer.session).toOpaque()
        let place = try #require(memory.place(inTableOf: stream))
        #expect(place.load(as: UInt.self) == UInt(bitPattern: stream))
        let lines = Set(Self.lines(peer.session.memoryOfWriting(StreamID(1))))
        let frame = try #require(memory.frame)
        for address in [UnsafeRawPointer(own), UnsafeRawPointer(library), stream, UnsafeRawPointer(frame), place] {
            #expect(lines.contains(UInt(bitPattern: address) / 64 * 64))
        }
    }

    @Test func `A stream that is closed stands in no table`() throws {
        let peer = try peerWithStream()
        let stream = try #require(peer.session.libraryStream(StreamID(1)))
        #expect(peer.session.memory?.place(inTableOf: stream) != nil)
        try peer.send(.reset(1))
        #expect(peer.session.libraryStream(StreamID(1)) == nil)
        #expect(peer.session.memory?.place(inTableOf: stream) == nil)
    }

    @Test func `Only where reads have a fixed size is memory asked for with each, and the size stays`() async throws {
        try await Loopback.withServer { port in
            let client = try await Loopback.connect(port: port)
            func bytesOfPrefetchingReads() async throws -> Int? {
                try await client.ask { session in
                    session.prefetchWhenReading(StreamID(1))
                    let options = session.context?.channel.syncOptions
                    return (try? options?.getOption(.recvAllocator) as? PrefetchingRecvAllocator)?.bytes
                } ?? nil
            }
            #expect(try await bytesOfPrefetchingReads() == nil)
            _ = try await client.ask { session in
                let fixed = FixedSizeRecvByteBufferAllocator(capacity: 700)
                try? session.context?.channel.syncOptions?.setOption(.recvAllocator, value: fixed)
            }
            for _ in 0..<2 { #expect(try await bytesOfPrefetchingReads() == 700) }
            let body = String(repeating: "0123456789", count: 500)
            #expect(try await client.post("/echo", body: body).body == body)
            _ = try await client.end { $0.drain() }
        }
    }
}
