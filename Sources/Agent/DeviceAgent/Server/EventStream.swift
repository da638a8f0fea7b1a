import Hummingbird
import NIOCore

/// Writes an app's events into an answer, one JSON object on each line, until the client or the agent ends it. It begins
/// with the events that the app has not handled.
struct EventStream: Sendable {
    let stream: Agent.OpenStream
    let connectionEnd: EventLoopFuture<Void>

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let continuation = stream.continuation
        connectionEnd.whenComplete { _ in continuation.finish() }
        var last: Int64 = 0
        var wakeUps = stream.wakeUps.makeAsyncIterator()
        repeat {
            while !stream.isEnded {
                let events = try stream.agent.store.events(
                    of: stream.bundleID, after: last, limit: AgentLimits.pageEvents)
                guard let newest = events.last else { break }
                last = newest.delivery
                var buffer = ByteBuffer()
                for event in events { buffer.writeBytes(event.line) }
                try await writer.write(buffer)
            }
        } while await wakeUps.next() != nil
        try await writer.finish(nil)
    }
}
