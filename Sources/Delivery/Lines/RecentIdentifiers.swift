import Notifications

/// The identifiers of the notifications that were sent last on a stream. A provider may give one to several requests; they
/// count as one notification then (Guide, Table 8-2), of which the device shows what came first.
struct RecentIdentifiers {
    /// A provider that sends a request again does so soon. More would cost each attempt time, and each device memory.
    static let capacity = 16

    private struct Entry: Equatable {
        let id: NotificationID
        let app: AppID
    }

    private var entries: ContiguousArray<Entry> = []
    /// The oldest of them, once they are as many as there may be.
    private var oldest = 0

    /// - Returns: whether it is there already.
    mutating func note(_ id: NotificationID, of app: AppID) -> Bool {
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
