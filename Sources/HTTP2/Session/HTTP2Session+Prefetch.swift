import CNghttp2
import Connections
import NIOCore
import NIOSSL

// What of a session, and of the channel and TLS beneath it, lies in the way of a piece of a body: as much as can be found
// from outside. The sizes are what is looked at on that way, as traced with libnghttp2 1.52; where another version has
// things elsewhere, it is slower by a little and not wrong.
extension HTTP2Session {
    /// What writing to an open stream goes through, and sending that.
    package func memoryOfWriting(_ stream: StreamID) -> PrefetchList {
        var list = memory(of: stream, library: 0..<832)
        list.add(memory?.frame, bytes: 64)
        if let index = streams.index(of: stream) { list.add(streams[index].outbound, bytes: 64) }
        guard let context else { return list }
        list.add(context.channel as AnyObject, bytes: 704)
        list.add(context.pipeline, bytes: 96)
        addHandlers(context, to: &list)
        list.add(buffers?.outgoing, bytes: 384)
        return list
    }

    /// Has what reading more of a stream goes through asked for with each read, while the system reads. Where the channel
    /// reads as much as it likes, and not a fixed number of bytes, nothing is asked for. Only on a socket's channel: SwiftNIO's
    /// channels for tests end the program where they are asked for this option.
    package func prefetchWhenReading(_ stream: StreamID) {
        guard let context, let options = context.channel.syncOptions else { return }
        let bytes: Int
        switch try? options.getOption(.recvAllocator) {
        case let fixed as FixedSizeRecvByteBufferAllocator: bytes = fixed.capacity
        case let former as PrefetchingRecvAllocator: bytes = former.bytes
        default: return
        }
        var list = PrefetchList()
        addHandlers(context, to: &list)
        list.add(buffers?.decrypted, bytes: 192)
        list.add(memory(of: stream, library: 704..<960))
        try? options.setOption(.recvAllocator, value: PrefetchingRecvAllocator(bytes: bytes, list: list))
    }

    /// The session's own and libnghttp2's, which has its session in one piece of 2.9 KB: what it sends stands at the
    /// beginning, what it receives behind that, and what both use at the end. Between these is HPACK, which only headers use.
    private func memory(of stream: StreamID, library part: Range<Int>) -> PrefetchList {
        var list = PrefetchList()
        list.add(self, bytes: 256)
        if let library {
            if part.lowerBound > 0 { list.add(UnsafeRawPointer(library), bytes: 64) }
            list.add(UnsafeRawPointer(library) + part.lowerBound, bytes: part.count)
            list.add(UnsafeRawPointer(library) + 2_304, bytes: 640)
        }
        if let found = libraryStream(stream) {
            list.add(found, bytes: 256)
            list.add(memory?.place(inTableOf: found), bytes: 8)
        }
        // With what stands before the elements: how many there are, and who holds them.
        streams.ids.withUnsafeBytes { list.add($0.baseAddress.map { $0 - 32 }, bytes: 48) }
        streams.elements.withUnsafeBytes { list.add($0.baseAddress.map { $0 - 32 }, bytes: 128) }
        list.add(application, bytes: 192)
        return list
    }

    /// Where libnghttp2 has what it knows of a stream.
    func libraryStream(_ stream: StreamID) -> UnsafeRawPointer? {
        library.flatMap { nghttp2_session_find_stream($0, stream.rawValue) }.map { UnsafeRawPointer($0) }
    }

    private func addHandlers(_ context: ChannelHandlerContext, to list: inout PrefetchList) {
        list.add(context, bytes: 128)
        let pipeline = context.pipeline.syncOperations
        guard let handler = try? pipeline.handler(type: NIOSSLHandler.self) else { return }
        list.add(handler, bytes: 320)
        list.add(try? pipeline.context(handler: handler), bytes: 128)
    }
}
