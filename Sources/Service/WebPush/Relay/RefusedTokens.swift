import DequeModule
package import Delivery

/// The device tokens of a relay's URL that the upstream does not know, so that it is not asked again for each of their messages:
/// anybody can send to such a URL, and the publisher's key pays for it.
package struct RefusedTokens: Sendable {
    /// How long a token is refused. A token that Apple has ended stays so; one that was wrong for another cause gets another try.
    package static let life = Duration.seconds(24 * 60 * 60)
    /// How many are remembered. One takes some 150 bytes, so all take 8 MB; beyond that the oldest is asked about again.
    package static let capacity = 50_000

    private struct Entry {
        var end: Uptime
        /// A token that one upstream does not know may be right for the next.
        var upstream: AppUpstream
        var number: UInt64
    }

    private let capacity: Int
    private var entries: [[UInt8]: Entry] = [:]
    /// The oldest first. Some of them were replaced: their numbers are in no entry.
    private var order: Deque<(token: [UInt8], number: UInt64)> = []
    private var last: UInt64 = 0

    /// - Parameter capacity: how many are remembered, 1 or more.
    package init(capacity: Int = RefusedTokens.capacity) { self.capacity = max(1, capacity) }

    package var count: Int { entries.count }

    /// - Parameter token: a hash of it.
    package func has(_ token: [UInt8], refusedBy upstream: AppUpstream, at now: Uptime) -> Bool {
        guard let entry = entries[token] else { return false }
        return entry.end > now && entry.upstream == upstream
    }

    package mutating func add(_ token: [UInt8], refusedBy upstream: AppUpstream, at now: Uptime) {
        while let oldest = order.first {
            let entry = entries[oldest.token]
            let isReplaced = entry?.number != oldest.number
            guard isReplaced || entries.count >= capacity || entry.map({ $0.end <= now }) ?? true else { break }
            order.removeFirst()
            if !isReplaced { entries[oldest.token] = nil }
        }
        last += 1
        entries[token] = Entry(end: now.advanced(by: Self.life), upstream: upstream, number: last)
        order.append((token, last))
        // Those that were replaced stay in the order. Remove them now and then.
        guard order.count > 2 * capacity else { return }
        order = Deque(order.filter { entries[$0.token]?.number == $0.number })
    }
}
