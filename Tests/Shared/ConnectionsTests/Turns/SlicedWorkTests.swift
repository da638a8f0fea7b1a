import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Connections

@Suite("Work in slices")
struct SlicedWorkTests {
    /// Remembers whether something was read, and how many slices there were.
    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let hasRead = Atomic(false)
        let slices = Atomic(0)
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { hasRead.store(true, ordering: .relaxed) }
    }

    /// The slices after which the work gives up. One is enough if the event loop reads between two of them.
    private static let bound = 1000

    @Test
    func `Between two slices the event loop reads what other connections have sent`() async throws {
        let (loops, clients) = (
            MultiThreadedEventLoopGroup(numberOfThreads: 1), MultiThreadedEventLoopGroup(numberOfThreads: 1)
        )
        let reader = Reader()
        let server = try await ServerBootstrap(group: loops)
            .childChannelInitializer { $0.pipeline.addHandler(reader) }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = try #require(server.localAddress)
        let client = try await ClientBootstrap(group: clients).connect(to: address).get()
        let slices = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
            SlicedWork.begin(on: loops.next()) {
                let number = reader.slices.add(1, ordering: .relaxed).newValue
                if number == 1 {
                    // The bytes arrive while the event loop is busy with this slice.
                    let sent = DispatchSemaphore(value: 0)
                    client.writeAndFlush(ByteBuffer(string: "hello")).whenComplete { _ in sent.signal() }
                    sent.wait()
                }
                let goesOn = !reader.hasRead.load(ordering: .relaxed) && number < Self.bound
                if !goesOn { continuation.resume(returning: number) }
                return goesOn
            }
        }
        let hasRead = reader.hasRead.load(ordering: .relaxed)
        #expect(hasRead)
        #expect(slices < Self.bound)
        try await client.close().get()
        try await server.close().get()
        try await clients.shutdownGracefully()
        try await loops.shutdownGracefully()
    }
}
