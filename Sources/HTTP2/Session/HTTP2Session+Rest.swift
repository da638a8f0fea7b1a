import CNghttp2
import Connections
import NIOCore

// A session on which nothing comes or goes gives back what only that needs.
extension HTTP2Session {
    /// Something came or went: looks again when it may have been the last for a while.
    func scheduleRest(_ context: ChannelHandlerContext) {
        hasWorked = true
        guard restLook == nil, state == .active, let delay = configuration.restsAfter else { return }
        restLook = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [self] in
            restLook = nil
            rest()
        }
    }

    private func rest() {
        guard state == .active, let library, let context, !isInLibrary else { return }
        guard !hasWorked, nghttp2_session_want_write(library) == 0, !hasUnwritten(context.channel) else {
            scheduleRest(context)
            hasWorked = false
            return
        }
        memory?.rest()
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
