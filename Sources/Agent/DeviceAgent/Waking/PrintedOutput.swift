import Foundation
import NIOCore
import NIOPosix
import struct SystemPackage.FileDescriptor

/// What a program prints: a pipe from which the agent copies so many bytes to its standard error, which is the journal. It reads the
/// rest too and drops it.
final class PrintedOutput: Sendable {
    /// The end for the program.
    let writeEnd: FileDescriptor
    private let eventLoop: any EventLoop
    private let copier: NIOLoopBoundBox<Copier>
    private let channel: any Channel
    /// The same pipe as the channel reads, for what is in it when the program has ended.
    private let rest: CInt

    /// - Parameters:
    ///   - limit: the bytes that are copied.
    ///   - exceeded: called once, when the program has printed more.
    static func open(limit: Int, exceeded: @escaping @Sendable () -> Void) async throws -> PrintedOutput {
        let pipe = try FileDescriptor.pipe()
        let rest = fcntl(pipe.readEnd.rawValue, F_DUPFD_CLOEXEC, 3)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let copier = NIOLoopBoundBox.makeBoxSendingValue(Copier(limit: limit, exceeded: exceeded), eventLoop: eventLoop)
        for descriptor in [pipe.readEnd, pipe.writeEnd] { _ = fcntl(descriptor.rawValue, F_SETFD, FD_CLOEXEC) }
        do {
            let channel = try await NIOPipeBootstrap(group: eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Reader(copier.value))
                    }
                }
                .takingOwnershipOfDescriptor(input: pipe.readEnd.rawValue).get()
            return PrintedOutput(pipe.writeEnd, eventLoop, copier, channel, rest)
        } catch {
            try? pipe.readEnd.close()
            try? pipe.writeEnd.close()
            if rest >= 0 { Foundation.close(rest) }
            throw error
        }
    }

    private init(
        _ writeEnd: FileDescriptor, _ eventLoop: any EventLoop, _ copier: NIOLoopBoundBox<Copier>,
        _ channel: any Channel,
        _ rest: CInt
    ) {
        (self.writeEnd, self.eventLoop, self.copier, self.channel, self.rest) = (
            writeEnd, eventLoop, copier, channel, rest
        )
    }

    /// Copies what the program has left in the pipe. What it has started may still hold the pipe, and is read until it ends.
    func ended() async {
        try? writeEnd.close()
        // The future does not fail.
        try? await eventLoop.submit { [copier, rest] in
            guard rest >= 0 else { return }
            // NIO has made the pipe non-blocking.
            var bytes = [UInt8](repeating: 0, count: 4096)
            var left = AgentLimits.printedBytes
            while left > 0 {
                let count = read(rest, &bytes, bytes.count)
                guard count > 0 else { break }
                left -= count
                copier.value.copy(bytes.prefix(count))
            }
            Foundation.close(rest)
        }.get()
    }

    /// Copies bytes until there are too many. Confined to its event loop.
    private final class Copier {
        private var left: Int
        private let exceeded: () -> Void

        init(limit: Int, exceeded: @escaping () -> Void) { (left, self.exceeded) = (limit, exceeded) }

        func copy(_ bytes: some Collection<UInt8>) {
            guard left > 0 else { return }
            let part = Array(bytes.prefix(left))
            // The journal may be gone. Then nobody could be told.
            _ = part.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            left -= part.count
            guard left == 0, bytes.count > part.count else { return }
            exceeded()
        }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let copier: Copier

        init(_ copier: Copier) { self.copier = copier }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            copier.copy(unwrapInboundIn(data).readableBytesView)
        }
    }
}
