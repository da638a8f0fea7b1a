import DeliveryLogFiles
import HTTPAPI
package import Notifications

/// What other nodes have in their delivery logs about a notification.
package struct OtherLogs: Sendable {
    /// Entries as lines of JSON, in any order.
    package var lines: [String]
    /// The names of the nodes that did not answer.
    package var unanswered: [String]

    package init(lines: [String], unanswered: [String]) {
        self.lines = lines
        self.unanswered = unanswered
    }
}

extension DeliveryLogSource {
    /// Returns the entries of this service about a notification, as lines of JSON, the oldest first.
    /// - Parameter limit: how many at most.
    package func lines(of notification: NotificationID, limit: Int) async throws -> [String] {
        await flush()
        let pages = LogPages(self, after: nil) { $0 == notification }
        var lines: [String] = []
        while lines.count < limit, let page = try await pages.next() {
            lines += page.lazy.filter { $0.entry.notification == notification }.map(\.entry.json)
        }
        return Array(lines.prefix(limit))
    }
}

/// Puts the entries of all nodes in the order of their times. Entries of one node keep their order.
enum ClusterLog {
    static func merged(_ lines: [String]) -> [String] {
        lines.enumerated().map { (time: time(of: $1), place: $0, line: $1) }
            .sorted { ($0.time, $0.place) < ($1.time, $1.place) }.map(\.line)
    }

    /// Each entry begins with its time.
    private static func time(of line: String) -> UInt64 {
        let digits = line.utf8.dropFirst(#"{"time":"#.utf8.count).prefix { (0x30...0x39).contains($0) }
        return UInt64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// The last line, if some nodes did not answer.
    static func line(unanswered nodes: [String]) -> String {
        let names = nodes.sorted().map { JSONString.quoted($0) }.joined(separator: ",")
        return #"{"unanswered":[\#(names)]}"#
    }
}
