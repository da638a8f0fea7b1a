import Connections
import HTTP2Core
import NIOCore

// An idle session releases the memory that only reading and writing need.
extension HTTP2Session {
    enum Activity {
        /// A frame was received or sent since the last check.
        case working
        /// No frame was received or sent since the last check.
        case idle
        /// The session is idle, and its memory was released.
        case released
    }

    /// Records that a frame was received or sent.
    func worked(_ context: ChannelHandlerContext) {
        activity = .working
        scheduleIdleCheck(context)
    }

    private func scheduleIdleCheck(_ context: ChannelHandlerContext) {
        guard idleCheck == nil, state == .active, case .releasedAfter(let delay) = configuration.idleMemory else {
            return
        }
        idleCheck = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [self] in
            idleCheck = nil
            releaseMemoryIfIdle()
            if activity != .released, let context = self.context { scheduleIdleCheck(context) }
        }
    }

    /// Releases memory if no frame was received or sent since the last call. For callers that check many connections
    /// anyway (``HTTP2Configuration/IdleMemory/releasedOnRequest``): a timer for each connection would wake the event
    /// loop too often.
    package func releaseMemoryIfIdle() {
        guard releasesIdleMemory, activity != .released else { return }
        guard state == .active, let context, !isHandlingEvents else { return }
        guard activity == .idle, !hasQueuedFrames, !hasUnwritten(context.channel) else {
            activity = .idle
            return
        }
        activity = .released
        endpoint.releaseIdleMemory()
        if unsentBodies.isEmpty { unsentBodies = [] }
        buffers?.releaseIdleMemory()
    }

    /// Whether the channel still has bytes to write. They are in the buffers whose memory would be released.
    private func hasUnwritten(_ channel: any Channel) -> Bool {
        // If the channel does not say it, assume that it has.
        unwrittenBytes(channel).map { $0 > 0 } ?? true
    }

    private func unwrittenBytes(_ channel: any Channel) -> Int? {
        guard let options = channel.syncOptions else { return nil }
        return try? options.getOption(.bufferedWritableBytes)
    }

    /// Sends what is queued, and releases the memory that only reading and writing need. For clients that have not
    /// authenticated: call it after each batch.
    /// - Returns: the bytes that the session holds beside its open streams because of the peer: frames and field blocks of
    ///   which a part is missing, and what the peer does not read.
    package func releaseMemoryAfterBatch() -> Int {
        guard state == .active, let context, !isHandlingEvents else { return 0 }
        flush()
        guard state == .active else { return 0 }
        endpoint.releaseIdleMemory()
        return endpoint.heldBytes + output.readableBytes + bufferedBytes + (unwrittenBytes(context.channel) ?? 0)
    }
}
