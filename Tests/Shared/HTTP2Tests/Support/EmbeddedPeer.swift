import HTTP2
import NIOCore
import NIOEmbedded

/// A session on an embedded channel. The test is its peer and reads and writes frames by hand.
final class EmbeddedPeer {
    let channel = EmbeddedChannel()
    let recorder = Recorder()
    let session: HTTP2Session

    init(_ role: HTTP2Session.Role = .server, _ configure: (inout HTTP2Configuration) -> Void = { _ in }) throws {
        var configuration = HTTP2Configuration()
        configure(&configuration)
        session = HTTP2Session(role: role, configuration: configuration, application: recorder)
        try channel.pipeline.syncOperations.addHandler(session)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    deinit {
        // Close the channel, because the pipeline and its handlers keep each other alive until then.
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
    }

    /// A server whose client has sent its preface and received the server's SETTINGS.
    static func connected(_ configure: (inout HTTP2Configuration) -> Void = { _ in }) throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer(.server, configure)
        try peer.send(WireFrame.preface + WireFrame.settings().bytes + WireFrame.settingsAcknowledgement.bytes)
        _ = try peer.received()
        return peer
    }

    /// A client whose server has sent its SETTINGS and received the client's.
    static func connectedClient(
        maxStreams: UInt32 = 100,
        _ configure: (inout HTTP2Configuration) -> Void = { _ in }
    ) throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer(.client, configure)
        let settings: [(UInt16, UInt32)] = [(3, maxStreams)]
        try peer.send(WireFrame.settings(settings), WireFrame.settingsAcknowledgement)
        _ = try peer.received()
        return peer
    }

    func send(_ bytes: [UInt8]) throws {
        // Send the submitted frames before more arrives.
        run()
        guard channel.isActive else { return }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        channel.embeddedEventLoop.run()
    }

    func send(_ frames: [WireFrame]) throws { try send(frames.flatMap(\.bytes)) }
    func send(_ frames: WireFrame...) throws { try send(frames) }

    func run() { channel.embeddedEventLoop.run() }

    /// What the session has written since the last call.
    func receivedBytes() throws -> [UInt8] {
        run()
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
        return bytes
    }

    func received() throws -> [WireFrame] { WireFrame.parse(try receivedBytes()) }
    func received(_ type: UInt8) throws -> [WireFrame] { try received().filter { $0.type == type } }

    /// The number of separate writes that are waiting.
    func receivedWrites() throws -> Int {
        run()
        var count = 0
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { count += buffer.readableBytes > 0 ? 1 : 0 }
        return count
    }

    func setWritable(_ isWritable: Bool) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
        run()
    }
}
