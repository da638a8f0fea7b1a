import Notifications

/// The identifiers of the last notifications on a stream. If a provider gives several requests the same identifier,
/// they count as one notification (Guide, Table 8-2), and the device shows only the first.
struct SentIdentifiers {
    /// The number of identifiers to keep. A small number is enough, because providers that repeat a request do so
    /// soon. Each identifier costs time for each attempt, and memory for each device.
    static let capacity = 16

    private struct Entry: Equatable {
        let id: NotificationID
        let app: AppID
    }

    private var entries: ContiguousArray<Entry> = []
    /// The index of the oldest identifier, once ``capacity`` is reached.
    private var oldest = 0

    /// - Returns: whether the identifier was already there.
    mutating func insert(_ id: NotificationID, of app: AppID) -> Bool {
        let entry = Entry(id: id, app: app)
        if entries.contains(entry) { return true }
        if entries.count < Self.capacity {
            entries.append(entry)
        } else {
            entries[oldest] = entry
            oldest = (oldest + 1) % Self.capacity
        }
        return false
    }
}
