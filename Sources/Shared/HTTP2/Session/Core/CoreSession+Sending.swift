import HTTP2Core
import NIOCore

// Sending: the endpoint's output, and bodies as far as the windows allow.
extension CoreSession {
    /// Moves frames to the channel while it is writable. Until then answers stay in the endpoint, and content in the
    /// streams' own buffers, which are limited.
    func pumpEndpoint(_ context: ChannelHandlerContext) {
        while isWritable {
            // Frames may be submitted while the application is called, so the flag is cleared before.
            hasNews = false
            let hasHandled = runProtocol { handleQueuedEvents() }
            guard state != .closed else { return }
            sendBodies()
            let hasMoved = moveOutput()
            if output.readableBytes >= Self.outputBytes { writeOutput(context) }
            if !hasMoved, !hasHandled, !submitFollowUps() { return }
        }
        hasNews = true
    }

    /// Sends content as far as the windows and the output allow. The bodies that had no turn are first the next time.
    private func sendBodies() {
        guard !unsentBodies.isEmpty else { return }
        let bodies = unsentBodies
        unsentBodies = []
        var waiting: [OutboundBody] = []
        for (number, body) in bodies.enumerated() {
            guard endpoint.output.count < HTTP2Endpoint.maxOutputBytes else {
                unsentBodies.append(contentsOf: bodies[number...])
                break
            }
            if send(body) { waiting.append(body) }
        }
        unsentBodies.append(contentsOf: waiting)
    }

    /// Sends what can be sent of a body. Returns whether it has to wait.
    private func send(_ body: OutboundBody) -> Bool {
        let stream = body.stream.ofCore
        let sent = body.buffer.withUnsafeReadableBytes { bytes in
            endpoint.sendData(bytes.bindMemory(to: UInt8.self).span, endStream: body.isFinished, on: stream)
        }
        // The stream has ended.
        guard let sent else { return false }
        body.drop(sent)
        let isEnd = body.isFinished && body.bytes == 0
        if sent > 0 || isEnd { bodyMoved(body, sent, isEnd: isEnd) }
        guard body.bytes == 0 else { return true }
        body.isDeferred = true
        return false
    }
}
