import Hummingbird
import Journal
import Matching
import NIOCore

/// Writes the journal's requests into an answer, as lines of JSON or as server-sent events. The answer may go on
/// without end.
struct RequestStream: Sendable {
    let entries: FollowedEntries
    let form: StreamForm
    let limit: Int

    /// How many lines may wait for the connection. The journal limits what waits beyond that for all streams together.
    private static let lines = 4

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        // Lines are made below and not in the tasks, which run on the threads of all tasks (SE-0417): those store
        // notifications too.
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        // Each permit is the place of a line. The next entry is taken from the journal when there is one.
        let (permits, permit) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<Self.lines { permit.yield() }
        let reading = Task { [entries, limit] in
            var left = limit
            var permits = permits.makeAsyncIterator()
            for await entry in entries {
                guard await permits.next() != nil else { break }
                continuation.yield(.entry(entry))
                left -= 1
                if left == 0 { break }
            }
            continuation.finish()
        }
        let pulse =
            form == .events ? Task.pulse(every: ManagementLimits.keepAlive) { continuation.yield(.keepAlive) } : nil
        defer {
            reading.cancel()
            pulse?.cancel()
            permit.finish()
        }
        if form == .events { try await writer.write(StreamForm.open) }
        for await line in lines {
            switch line {
            case .entry(let entry):
                try await writer.write(ByteBuffer(string: form.line(entry.json, id: entry.facts.number)))
                permit.yield()
            case .keepAlive:
                try await writer.write(StreamForm.keepAlive)
            }
        }
        try await writer.finish(nil)
    }

    private enum Line {
        case entry(JournalEntry)
        case keepAlive
    }
}
