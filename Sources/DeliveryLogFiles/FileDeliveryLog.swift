package import Delivery
import Dispatch
package import Notifications
import Synchronization

/// The delivery log in append-only files: events go into a bounded queue, and a thread of its own writes what has
/// gathered.
package final class FileDeliveryLog: DeliveryLog {
    /// What has happened, for whoever counts it.
    package struct Report: Sendable {
        package let events: ContiguousArray<DeliveryEvent>
        /// How many events did not even get into the queue.
        package let overflow: UInt64
        /// Why these events were not written; nil where they were.
        package let failure: DeliveryLogError?

        /// How many events the files do not have.
        package var losses: UInt64 { overflow + (failure == nil ? 0 : UInt64(events.count)) }
    }

    private let limits: DeliveryLogLimits
    private let clock: @Sendable () -> Timestamp
    private let report: @Sendable (Report) -> Void
    private let registrations = Mutex(WeakRegistrations())
    private let queue: Mutex<Queue>
    private let file: Mutex<File>
    private let thread = DispatchQueue(label: "DeliveryLog")

    private struct Queue {
        var events: ContiguousArray<DeliveryEvent> = []
        var overflow: UInt64 = 0
        /// Whether ``writeWaiting()`` will run.
        var isScheduled = false
    }

    private struct File: ~Copyable {
        var writer: SegmentWriter
        var block = RecordBuffer()
        var tokens = TokenCache()
        /// Losses that the files do not show yet.
        var lost: UInt64 = 0
    }

    private struct WeakRegistrations {
        weak var value: (any Registrations & AnyObject)?
    }

    /// Opens the log in a folder, which is made where there is none.
    /// - Parameters:
    ///   - clock: tells the time, in milliseconds since 1970.
    ///   - report: told of all events, after they were written, on the log's own thread.
    package init(
        folder: String,
        limits: DeliveryLogLimits = DeliveryLogLimits(),
        clock: @escaping @Sendable () -> Timestamp,
        report: @escaping @Sendable (Report) -> Void = { _ in },
    ) throws(DeliveryLogError) {
        let folder = LogFolder(path: folder)
        try folder.make()
        self.limits = limits
        self.clock = clock
        self.report = report
        queue = Mutex(Queue())
        file = Mutex(File(writer: SegmentWriter(folder, limits)))
    }

    /// Where the log finds the device token that a destination has now; kept weakly.
    package func findTokens(in registrations: any Registrations & AnyObject) {
        self.registrations.withLock { $0.value = registrations }
    }

    package func record(_ event: DeliveryEvent) {
        let isFirst = queue.withLock { queue in
            guard queue.events.count < limits.pendingEvents else {
                queue.overflow += 1
                return false
            }
            queue.events.append(event)
            defer { queue.isScheduled = true }
            return !queue.isScheduled
        }
        if isFirst { thread.asyncAfter(deadline: .now() + Self.gathering) { self.writeWaiting() } }
    }

    private static let gathering = DispatchTimeInterval.milliseconds(
        Int(DeliveryLogLimits.gathering.components.attoseconds / 1_000_000_000_000_000))

    /// Returns once everything that was recorded before has been written.
    package func flush() async {
        await withCheckedContinuation { continuation in
            thread.async {
                self.writeWaiting()
                continuation.resume()
            }
        }
    }

    private func writeWaiting() {
        let (events, overflow) = queue.withLock { queue in
            let taken = (queue.events, queue.overflow)
            queue.events = []
            // What comes while these are written is about as much.
            queue.events.reserveCapacity(taken.0.count)
            queue.overflow = 0
            queue.isScheduled = false
            return taken
        }
        guard !events.isEmpty || overflow > 0 else { return }
        var failure: DeliveryLogError?
        do throws(DeliveryLogError) {
            try file.withLock { file throws(DeliveryLogError) in
                file.lost += overflow
                try write(events, to: &file)
            }
        } catch {
            failure = error
        }
        report(Report(events: events, overflow: overflow, failure: failure))
    }

    private func write(_ events: ContiguousArray<DeliveryEvent>, to file: inout File) throws(DeliveryLogError) {
        let registrations = registrations.withLock { $0.value }
        var written = 0
        do throws(DeliveryLogError) {
            for index in events.indices {
                write(events[index], to: &file, registrations)
                guard !file.block.hasRoom else { continue }
                try writeBlock(of: &file)
                written = index + 1
            }
            try writeBlock(of: &file)
            // A registration may have changed until the next time.
            file.tokens.removeAll()
        } catch {
            file.block.removeAll()
            file.lost += UInt64(events.count - written)
            throw error
        }
    }

    private func write(_ event: DeliveryEvent, to file: inout File, _ registrations: (any Registrations)?) {
        guard case .destination(let destination, let generation) = event.subject.address,
            let token = file.tokens.known(destination) ?? lookUp(destination, &file.tokens, registrations)
        else { return LogRecord.write(event, tokenKey: 0, to: &file.block) }
        LogRecord.write(
            event, generation: generation == 0 ? token.generation : nil, tokenKey: token.key, to: &file.block)
    }

    @inline(never)
    private func lookUp(
        _ destination: Destination,
        _ tokens: inout TokenCache,
        _ registrations: (any Registrations)?,
    ) -> TokenCache.Token? {
        guard case .registered(let registration) = registrations?.known(destination) else { return nil }
        let token = TokenCache.Token(generation: registration.generation, key: registration.tokenKeyID)
        tokens.remember(token, of: destination)
        return token
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
