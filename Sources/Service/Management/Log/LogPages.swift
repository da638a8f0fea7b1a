import Delivery
import DeliveryLogFiles
import Dispatch
import HTTPAPI
import Notifications
import Synchronization

/// Reads the log's files on a separate thread, because reading blocks, and the threads that run tasks must not block.
final class LogPages: Sendable {
    /// An entry, its position, and the destination that it is about.
    struct Item: Sendable {
        let position: LogPosition
        let entry: LogEntry
        let address: NotificationSubject.Address
    }

    private let queue = DispatchQueue(label: "LogPages")
    private let token: DeliveryLogSource.TokenName
    private let reader: Mutex<DeliveryLogReader>
    private let admits: @Sendable (NotificationID) -> Bool

    /// - Parameter admits: returns whether to read the entries of a notification. Skipping the others costs little.
    init(
        _ source: DeliveryLogSource,
        after position: LogPosition?,
        admits: @escaping @Sendable (NotificationID) -> Bool = { _ in true },
    ) {
        self.admits = admits
        token = source.token
        reader = Mutex(DeliveryLogReader(folder: source.folder, after: position))
    }

    /// The next entries; nil if there are no more at present.
    func next() async throws -> [Item]? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in continuation.resume(with: Result { try read() }) }
        }
    }

    private func read() throws -> [Item]? {
        let records = try reader.withLock { try $0.next(atMost: ManagementLimits.logPage) }
        guard !records.isEmpty else { return nil }
        return records.compactMap { position, record in
            var address = NotificationSubject.Address.unknown
            if case .event(let event, _) = record {
                guard admits(event.subject.id) else { return nil }
                address = event.subject.address
            }
            return Item(position: position, entry: LogEntry(record, token: token), address: address)
        }
    }
}
