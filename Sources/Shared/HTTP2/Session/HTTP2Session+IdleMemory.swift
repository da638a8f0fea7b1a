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
        guard let options = channel.syncOptions, let bytes = try? options.getOption(.bufferedWritableBytes) else {
            // The channel does not say, so assume that it has.
            return true
        }
        return bytes > 0
    }
}
