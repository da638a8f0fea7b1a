import Hummingbird
import Journal
import Matching
import NIOCore

/// Writes requests of the journal as an answer, which may have no end: as lines of JSON or as server-sent events.
struct RequestStream: Sendable {
    let entries: AsyncStream<JournalEntry>
    let form: LogStream.Form
    let limit: Int

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let (lines, continuation) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingOldest(JournalLimits.followerBacklog))
        let reading = Task { [entries, form, limit] in
            var left = limit
            for await entry in entries {
                // End the stream if its reader is too slow, as the journal does.
                if case .dropped = continuation.yield(Self.line(entry, form)) { break }
                left -= 1
                if left == 0 { break }
            }
            continuation.finish()
        }
        let pulse = Task { [form] in
            guard form == .events else { return }
            while true {
                try await Task.sleep(for: ManagementLimits.keepAlive)
                continuation.yield(": keep-alive\n\n")
            }
        }
        defer {
            reading.cancel()
            pulse.cancel()
        }
        // A browser considers the stream open when it gets the first byte.
        if form == .events { try await writer.write(ByteBuffer(string: ": open\n\n")) }
        for await line in lines { try await writer.write(ByteBuffer(string: line)) }
        try await writer.finish(nil)
    }

    static func line(_ entry: JournalEntry, _ form: LogStream.Form) -> String {
        switch form {
        case .lines: entry.json + "\n"
        case .events: "id: \(entry.facts.number)\ndata: \(entry.json)\n\n"
        }
    }
}
