import Delivery
import DeliveryLogFiles
import Dispatch
import Synchronization

/// Reads the log's files on a separate thread. Reading blocks, and must not block the threads of tasks.
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

    init(_ source: DeliveryLogSource, after position: LogPosition?) {
        token = source.token
        reader = Mutex(DeliveryLogReader(folder: source.folder, after: position))
    }

    /// The next entries; empty if there are none now.
    func next() async throws -> [Item] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in continuation.resume(with: Result { try read() }) }
        }
    }

    private func read() throws -> [Item] {
        try reader.withLock { try $0.next() }.map { position, record in
            let address: NotificationSubject.Address =
                if case .event(let event, _) = record { event.subject.address } else { .unknown }
            return Item(position: position, entry: LogEntry(record, token: token), address: address)
        }
    }
}
