import CNghttp2
import Connections
import NIOCore

// A session on which nothing comes or goes gives back what only that needs.
extension HTTP2Session {
    /// How much is going on.
    enum Activity {
        /// Something came or went since it was last looked at.
        case working
        /// Nothing did.
        case silent
        /// Nothing did, and the memory was given back.
        case resting
    }

    /// Something came or went.
    func worked(_ context: ChannelHandlerContext) {
        activity = .working
        scheduleLook(context)
    }

    private func scheduleLook(_ context: ChannelHandlerContext) {
        guard restLook == nil, state == .active, case .after(let delay) = configuration.rest else { return }
        restLook = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [self] in
            restLook = nil
            restIfSilent()
            if activity != .resting, let context = self.context { scheduleLook(context) }
        }
    }

    /// Gives memory back where nothing came or went since the last call. For whoever looks at many connections anyway
    /// (``HTTP2Configuration/Rest/asked``): a timer for each wakes the event loop as often as the connections work.
    package func restIfSilent() {
        guard let memory, activity != .resting else { return }
        guard state == .active, let library, let context, !isInLibrary else { return }
        guard activity == .silent, nghttp2_session_want_write(library) == 0, !hasUnwritten(context.channel) else {
            activity = .silent
            return
        }
        activity = .resting
        memory.rest()
        buffers?.rest()
    }

    /// Whether the channel still holds bytes of ours; they lie in the buffers that are to rest.
    private func hasUnwritten(_ channel: any Channel) -> Bool {
        guard let options = channel.syncOptions, let bytes = try? options.getOption(.bufferedWritableBytes) else {
            // A channel that does not tell may hold some for ever.
            return true
        }
        return bytes > 0
    }
}
