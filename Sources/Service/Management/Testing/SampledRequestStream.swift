import Hummingbird
import Journal
import Matching
import NIOCore

/// Writes a sample of the journal's requests, one batch at most every quarter of a second, and how many requests each
/// batch leaves out.
struct SampledRequestStream: Sendable {
    let journal: RequestJournal
    let match: RequestMatch
    let form: StreamForm
    /// What waits for this client, among all clients that do not read.
    let share: Backlog.Share
    /// Registers a closure to call when the client or its session is gone.
    let whenOver: @Sendable (_ finish: @escaping @Sendable () -> Void) -> Void

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let (ticks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let finish = { @Sendable in continuation.finish() }
        let (sample, remove) = journal.sample(match, ended: finish)
        whenOver(finish)
        let clock = Task.pulse(every: ManagementLimits.samplePace) { continuation.yield() }
        defer {
            clock.cancel()
            remove()
        }
        if form == .events { try await writer.write(StreamForm.open) }
        var lastWrite = ContinuousClock.now
        for await _ in ticks {
            let batch = sample.nextBatch()
            if !batch.isEmpty {
                let lines = text(batch)
                let bytes = lines.utf8.count
                defer { share.remove(bytes) }
                guard share.add(bytes) else { throw TooMuchWaits() }
                try await writer.write(ByteBuffer(string: lines))
                lastWrite = .now
            } else if form == .events, lastWrite.duration(to: .now) >= ManagementLimits.keepAlive {
                try await writer.write(StreamForm.keepAlive)
                lastWrite = .now
            }
        }
        try await writer.finish(nil)
    }

    private func text(_ batch: JournalSample.Batch) -> String {
        var text = ""
        for entry in batch.entries { text += form.line(entry.json, id: entry.facts.number) }
        return batch.leftOut > 0 ? text + form.line(leftOut: batch.leftOut) : text
    }
}
