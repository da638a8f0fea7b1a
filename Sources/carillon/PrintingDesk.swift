import APNSDevice
import Notifications

/// Prints notifications one after the other, and acknowledges what was printed, several at once.
actor PrintingDesk {
    /// How long printed notifications may wait to be acknowledged together. The contract allows 500 ms.
    private static let acknowledgementDelay = Duration.milliseconds(50)
    /// How many go into one request: the body stays far below what the courier takes.
    private static let batch = 1000

    private let client: DeviceClient
    private let output: Output
    private(set) var seen: RecentIdentifiers
    private var sendings: [UInt64] = []
    private var isClosed = false

    init(_ client: DeviceClient, _ output: Output, _ seen: RecentIdentifiers) {
        self.client = client
        self.output = output
        self.seen = seen
    }

    /// Prints a notification unless it was printed before; after the end nothing is printed, and so not acknowledged.
    func take(_ notification: ReceivedNotification) {
        guard !isClosed else { return }
        if seen.insert(notification.id) { show(notification) }
        sendings.append(notification.sending)
    }

    /// Acknowledges at intervals, until it is cancelled or an acknowledgement fails.
    func acknowledgeAll() async throws {
        while true {
            try await Task.sleep(for: Self.acknowledgementDelay)
            try await flush()
        }
    }

    /// Prints no more, and acknowledges what was printed.
    func close() async {
        isClosed = true
        // What cannot be acknowledged is sent again, as after a crash.
        try? await flush()
    }

    private func flush() async throws {
        while !sendings.isEmpty {
            let batch = Array(sendings.prefix(Self.batch))
            sendings.removeFirst(batch.count)
            do {
                try await client.acknowledge(batch)
            } catch {
                sendings = batch + sendings
                throw error
            }
        }
    }

    private func show(_ notification: ReceivedNotification) {
        let payload = String(decoding: notification.payload, as: UTF8.self)
        let topic = JSONString.quoted(notification.topic)
        output.printRaw(
            #"{"event":"notification","id":\#(JSONString.quoted(notification.id)),"topic":\#(topic),"#
                + #""priority":\#(notification.priority),"payload":\#(payload)}"#,
            "\(notification.topic)  \(payload)",
        )
    }
}
