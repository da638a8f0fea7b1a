import Delivery
import DeliveryLogFiles
import HTTPAPI
import Hummingbird
import Journal
import NIOCore

/// Writes the delivery log into an answer, as lines of JSON or as server-sent events. The answer may go on without
/// end.
struct LogStream: Sendable {
    let source: DeliveryLogSource
    let accounts: any Accounts
    let form: StreamForm
    let filter: LogFilter
    let position: LogPosition?
    let isFollowing: Bool
    let limit: Int
    /// Whether to show only a sample of the entries when many arrive.
    let isSampled: Bool
    /// What waits for this client, among all clients that do not read.
    let share: Backlog.Share
    /// Registers a closure that is called when the client or its session is gone.
    let whenOver: @Sendable (_ finish: @escaping @Sendable () -> Void) -> Void

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        // Begin to listen before the first read, so that no write after that read is missed.
        let wakeUps = source.signal.add()
        // A client that polls the log over one connection would otherwise leave a closure there with each request.
        if isFollowing { whenOver { wakeUps.continuation.finish() } }
        let pulse = Task.pulse(every: ManagementLimits.keepAlive) { wakeUps.continuation.yield() }
        defer {
            pulse.cancel()
            source.signal.remove(wakeUps)
        }
        // The answer contains everything that was recorded before the request.
        await source.flush()
        let sample = isSampled ? LogSample() : nil
        let pages = LogPages(source, after: position) { sample?.admits($0) ?? true }
        var left = limit
        var lastWrite = ContinuousClock.now
        var iterator = wakeUps.stream.makeAsyncIterator()
        repeat {
            if try await writePages(pages, &left, to: &writer) > 0 { lastWrite = .now }
            if let sample {
                let leftOut = sample.next()
                if leftOut > 0 {
                    try await writer.write(ByteBuffer(string: form.line(leftOut: leftOut)))
                }
                sample.begin()
                // Gather the entries of one period, and write them together.
                try await Task.sleep(for: ManagementLimits.samplePace)
            }
            guard isFollowing, left > 0 else { break }
            if form == .events, lastWrite.duration(to: .now) >= ManagementLimits.keepAlive {
                try await writer.write(StreamForm.keepAlive)
                lastWrite = .now
            }
        } while await iterator.next() != nil
        try await writer.finish(nil)
    }

    /// Writes the entries that the log has now.
    /// - Parameter left: how many entries may still be written.
    /// - Returns: how many were written.
    @concurrent private func writePages(
        _ pages: LogPages,
        _ left: inout Int,
        to writer: inout any ResponseBodyWriter,
    ) async throws -> Int {
        let before = left
        var readsAfterEnd = 0
        while left > 0, readsAfterEnd < ManagementLimits.readsAfterEnd, let page = try await pages.next() {
            if isFollowing, source.signal.hasEnded { readsAfterEnd += 1 }
            let accounts = accounts.current
            let wanted = page.lazy.filter { filter.wants($0, accounts) }.prefix(left)
            var text = ""
            for item in wanted {
                text += form.line(item.entry.json, id: item.position)
                left -= 1
                guard text.utf8.count >= ManagementLimits.logPieceBytes else { continue }
                try await write(text, to: &writer)
                text = ""
            }
            if !text.isEmpty { try await write(text, to: &writer) }
        }
        return before - left
    }

    /// - Throws: if too much waits for all clients together, and the most for this one. The connection then ends.
    @concurrent private func write(_ text: String, to writer: inout any ResponseBodyWriter) async throws {
        let bytes = text.utf8.count
        defer { share.remove(bytes) }
        guard share.add(bytes) else { throw TooMuchWaits() }
        try await writer.write(ByteBuffer(string: text))
    }
}

/// What waits for clients that do not read has exceeded its limit.
struct TooMuchWaits: Error {}
