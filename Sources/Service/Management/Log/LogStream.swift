import Delivery
import DeliveryLogFiles
import HTTPAPI
import Hummingbird
import NIOCore

/// Writes the delivery log into an answer, as lines of JSON or as server-sent events. The answer may go on without
/// end.
struct LogStream: Sendable {
    enum Form: Sendable {
        /// `application/x-ndjson`: one entry on each line.
        case lines
        /// `text/event-stream`: one entry for each event, whose `id` is its position.
        case events

        /// The form that the request's `Accept` header selects.
        init(_ request: Request) {
            self = request.headers[.accept]?.contains(Self.events.mediaType) == true ? .events : .lines
        }

        var mediaType: String {
            switch self {
            case .lines: MediaType.lines
            case .events: MediaType.events
            }
        }
    }

    let source: DeliveryLogSource
    let accounts: any Accounts
    let form: Form
    let filter: LogFilter
    let position: LogPosition?
    let isFollowing: Bool
    let limit: Int
    /// Whether to show only a sample of the entries when many arrive.
    let isSampled: Bool
    /// Registers a closure that is called when the client or its session is gone.
    let whenOver: @Sendable (_ finish: @escaping @Sendable () -> Void) -> Void

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        // Begin to listen before the first read, so that no write after that read is missed.
        let wakeUps = source.signal.add()
        // A client that polls the log over one connection would otherwise leave a closure there with each request.
        if isFollowing { whenOver { wakeUps.continuation.finish() } }
        let pulse = Task {
            while true {
                try await Task.sleep(for: ManagementLimits.keepAlive)
                wakeUps.continuation.yield()
            }
        }
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
                    try await writer.write(ByteBuffer(string: Self.line(leftOut: leftOut, form)))
                }
                sample.begin()
                // Gather the entries of one period, and write them together.
                try await Task.sleep(for: ManagementLimits.samplePace)
            }
            guard isFollowing, left > 0 else { break }
            if form == .events, lastWrite.duration(to: .now) >= ManagementLimits.keepAlive {
                try await writer.write(ByteBuffer(string: ": keep-alive\n\n"))
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
        while left > 0 {
            guard let page = try await pages.next() else { break }
            let accounts = accounts.current
            let wanted = page.lazy.filter { filter.wants($0, accounts) }.prefix(left)
            var text = ""
            for item in wanted {
                text += line(item)
                left -= 1
            }
            if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
        }
        return before - left
    }

    static func line(leftOut: Int, _ form: Form) -> String {
        let json = #"{"leftOut":\#(leftOut)}"#
        return form == .events ? "data: \(json)\n\n" : "\(json)\n"
    }

    private func line(_ item: LogPages.Item) -> String {
        switch form {
        case .lines: item.entry.json + "\n"
        case .events: "id: \(item.position)\ndata: \(item.entry.json)\n\n"
        }
    }
}
