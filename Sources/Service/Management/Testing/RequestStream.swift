import Hummingbird
import Journal
import Matching
import NIOCore

/// Writes the journal's requests into an answer, as lines of JSON or as server-sent events. The answer may go on
/// without end.
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
                // End the stream if its reader is too slow. The journal does the same with its own streams.
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
        // A browser does not report the stream as open before its first byte.
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
