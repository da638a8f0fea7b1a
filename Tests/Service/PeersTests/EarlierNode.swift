import CommonTesting
import Delivery
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import Synchronization

@testable import Peers

/// A node of an earlier release, which does not know questions about devices. It only notes the kinds of the records that it
/// gets.
final class EarlierNode: Sendable {
    let id = NodeID(bytes: [9])
    private let kinds = Mutex<[UInt8]>([])

    /// Calls a node, and returns when the connection is open. The greetings follow.
    func call(_ node: TestNode) async throws -> any Channel {
        let context = try node.context()
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let session = HTTP2Session(
                        role: .client, configuration: PeerService.configuration, application: Caller(self))
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: "localhost"), session)
                }
            }
            .connect(host: "127.0.0.1", port: node.port).get()
    }

    /// Returns the kinds of the records that have come, as soon as there are this many.
    func kinds(_ count: Int) async throws -> [UInt8] {
        try await wait(while: kinds.withLock(\.count) < count)
        return kinds.withLock { $0 }
    }

    private final class Caller: HTTP2Application {
        private let node: EarlierNode
        private var unread = ByteBuffer()

        init(_ node: EarlierNode) { self.node = node }

        func sessionBecameActive(_ session: HTTP2Session) {
            var block = FieldList()
            block.append(":method", "POST")
            block.append(":scheme", "https")
            block.append(":authority", "localhost")
            block.append(":path", "/1/peer")
            block.append("carillon-node", Hexadecimal.string(node.id.bytes))
            block.append("carillon-origin", "0000000000000009")
            block.append("carillon-broadcasts", "1")
            block.append("carillon-barriers", "1")
            do { _ = try session.request(block, endStream: false) } catch { session.close() }
        }

        func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
            bytes.withUnsafeBytes { _ = unread.writeBytes($0) }
            while let length = unread.getInteger(at: unread.readerIndex, as: UInt32.self),
                unread.readableBytes >= Int(length) + 4
            {
                unread.moveReaderIndex(forwardBy: 4)
                let kind = unread.readSlice(length: Int(length))?.getInteger(at: 0, as: UInt8.self)
                if let kind { node.kinds.withLock { $0.append(kind) } }
            }
        }
    }
}
