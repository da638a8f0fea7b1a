import Hummingbird
import Journal
import Matching
import NIOCore

/// Writes a sample of the journal's requests, a batch four times a second at most, and how many requests it left out.
struct SampledRequestStream: Sendable {
    let journal: RequestJournal
    let match: RequestMatch
    let form: LogStream.Form
    /// Registers a closure to call when the reader has gone.
    let whenOver: @Sendable (_ finish: @escaping @Sendable () -> Void) -> Void

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let (ticks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let finish = { @Sendable in continuation.finish() }
        let (sample, remove) = journal.sample(match, ended: finish)
        whenOver(finish)
        let clock = Task {
            while true {
                try await Task.sleep(for: ManagementLimits.samplePace)
                continuation.yield()
            }
        }
        defer {
            clock.cancel()
            remove()
        }
        // A browser takes the stream for open at its first byte.
        if form == .events { try await writer.write(ByteBuffer(string: ": open\n\n")) }
        var lastWrite = ContinuousClock.now
        for await _ in ticks {
            let batch = sample.take()
            if !batch.isEmpty {
                try await writer.write(ByteBuffer(string: text(batch)))
                lastWrite = .now
            } else if form == .events, lastWrite.duration(to: .now) >= ManagementLimits.keepAlive {
                try await writer.write(ByteBuffer(string: ": keep-alive\n\n"))
                lastWrite = .now
            }
        }
        try await writer.finish(nil)
    }

    private func text(_ batch: JournalSample.Batch) -> String {
        var text = ""
        for entry in batch.entries { text += RequestStream.line(entry, form) }
        return batch.leftOut > 0 ? text + LogStream.line(leftOut: batch.leftOut, form) : text
    }
}
