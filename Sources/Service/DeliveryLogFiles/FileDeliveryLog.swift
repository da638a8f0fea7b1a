package import Delivery
import Dispatch
package import Notifications
import Synchronization

/// The delivery log in files to which it only appends. An event is written into a block in memory at once. A separate
/// thread appends the block to the file.
///
/// In the block, an event takes some 30 bytes and holds no references. Keeping the event itself for a later write
/// would cost more.
package final class FileDeliveryLog: DeliveryLog {
    /// What one write to the file contained. The metrics need this.
    package struct WriteSummary: Sendable {
        package let tally: DeliveryTally
        /// How many events were lost because the block was full.
        package let overflow: UInt64
        /// Why these events could not be written; nil if they were written.
        package let failure: DeliveryLogError?

        /// How many events are missing from the files.
        package var losses: UInt64 { overflow + (failure == nil ? 0 : UInt64(tally.count)) }
    }

    private let limits: DeliveryLogLimits
    private let clock: @Sendable () -> Timestamp
    private let report: @Sendable (WriteSummary) -> Void
    private let waiting: Mutex<Waiting>
    private let file: Mutex<File>
    private let thread = DispatchQueue(label: "DeliveryLog")

    /// The events that were not written to the file yet.
    fileprivate struct Waiting: ~Copyable {
        var block = RecordBuffer()
        var tally = DeliveryTally()
        var overflow: UInt64 = 0
        var registrations: (any KnownRegistrations)?
        /// Whether a call of ``writeWaiting()`` is scheduled.
        var isScheduled = false
    }

    private struct File: ~Copyable {
        var writer: SegmentWriter
        /// The second block. Each write exchanges it with the waiting block. It is empty between writes.
        var block = RecordBuffer()
        /// How many events were lost without a record of it in the files so far.
        var lost: UInt64 = 0
    }

    /// Opens the log in a folder, and creates the folder if it is missing.
    /// - Parameters:
    ///   - clock: returns the time.
    ///   - report: called on the log's own thread after events were written.
    package init(
        folder: String,
        limits: DeliveryLogLimits = DeliveryLogLimits(),
        clock: @escaping @Sendable () -> Timestamp,
        report: @escaping @Sendable (WriteSummary) -> Void = { _ in },
    ) throws(DeliveryLogError) {
        let folder = LogFolder(path: folder)
        try folder.make()
        self.limits = limits
        self.clock = clock
        self.report = report
        waiting = Mutex(Waiting())
        file = Mutex(File(writer: SegmentWriter(folder, limits)))
    }

    /// Tells the log where to look up the present device token of a destination.
    package func findTokens(in registrations: any KnownRegistrations) {
        waiting.withLock { $0.registrations = registrations }
    }

    package func record(_ event: DeliveryEvent) {
        let isFirst = waiting.withLock { waiting in
            guard waiting.block.hasRoom, waiting.tally.count < limits.pendingEvents else {
                waiting.overflow += 1
                return false
            }
            waiting.write(event)
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if isFirst { thread.asyncAfter(deadline: .now() + Self.gathering) { self.writeWaiting() } }
    }

    private static let gathering = DispatchTimeInterval.milliseconds(
        // fits: a constant of less than a second
        Int(DeliveryLogLimits.gathering.components.attoseconds / 1_000_000_000_000_000))

    /// Returns after all events recorded before the call were written.
    package func flush() async {
        await withCheckedContinuation { continuation in
            thread.async {
                self.writeWaiting()
                continuation.resume()
            }
        }
    }

    /// Writes waiting events, and removes files that are too old. This is needed after the clock was advanced:
    /// otherwise old files are removed only when a new file begins.
    package func removeOld() async {
        await withCheckedContinuation { continuation in
            thread.async {
                self.file.withLock { $0.writer.removeOld(now: self.clock()) }
                self.writeWaiting()
                continuation.resume()
            }
        }
    }

    private func writeWaiting() {
        let summary = file.withLock { file in
            let (tally, overflow) = exchange(&file.block)
            file.lost += overflow
            do throws(DeliveryLogError) {
                try writeBlock(of: &file)
                return WriteSummary(tally: tally, overflow: overflow, failure: nil)
            } catch {
                file.block.removeAll()
                file.lost += UInt64(tally.count)
                return WriteSummary(tally: tally, overflow: overflow, failure: error)
            }
        }
        if summary.tally.count > 0 || summary.overflow > 0 { report(summary) }
    }

    /// Exchanges the waiting block for an empty one.
    private func exchange(_ block: inout RecordBuffer) -> (DeliveryTally, overflow: UInt64) {
        waiting.withLock { waiting in
            swap(&waiting.block, &block)
            let taken = (waiting.tally, waiting.overflow)
            waiting.tally = DeliveryTally()
            waiting.overflow = 0
            waiting.isScheduled = false
            return taken
        }
    }

    private func writeBlock(of file: inout File) throws(DeliveryLogError) {
        let now = clock()
        if file.lost > 0 { LogRecord.lost(file.lost, at: now).write(to: &file.block) }
        guard !file.block.isEmpty else { return }
        try Self.write(&file.block, with: &file.writer, now)
        file.lost = 0
        file.block.removeAll()
    }

    private static func write(
        _ block: inout RecordBuffer,
        with writer: inout SegmentWriter,
        _ now: Timestamp,
    ) throws(DeliveryLogError) {
        try block.withBlock { bytes throws(DeliveryLogError) in try writer.write(bytes, now: now) }
    }
}

extension FileDeliveryLog.Waiting {
    fileprivate mutating func write(_ event: DeliveryEvent) {
        tally.count(event.step)
        guard case .destination(let destination, let generation) = event.subject.address,
            case .registered(let registration) = registrations?.knownRegistration(of: destination)
        else { return LogRecord.write(event, tokenKey: 0, to: &block) }
        LogRecord.write(
            event,
            generation: generation == 0 ? registration.generation : nil,
            tokenKey: registration.tokenKeyID,
            to: &block,
        )
    }
}
