import Delivery
import Notifications

/// Remembers the device tokens of the destinations that are written together, most of which come more than once: looking one up costs
/// more than writing an event.
struct TokenCache {
    struct Token {
        var generation: UInt32
        var key: UInt32
    }

    private struct Entry {
        var destination: Destination
        var token: Token
    }

    /// A power of two: more destinations than a block has at a common pace, in some 40 KB.
    private static let size = 1024

    private var entries = [Entry?](repeating: nil, count: TokenCache.size)
    private var isEmpty = true

    /// The token of a destination, where it is remembered.
    func known(_ destination: Destination) -> Token? {
        guard let entry = entries[Self.index(destination)], entry.destination == destination else { return nil }
        return entry.token
    }

    mutating func remember(_ token: Token, of destination: Destination) {
        entries[Self.index(destination)] = Entry(destination: destination, token: token)
        isEmpty = false
    }

    private static func index(_ destination: Destination) -> Int {
        let hash = destination.device.rawValue &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(destination.app.rawValue)
        return Int(truncatingIfNeeded: hash >> 32) & (size - 1)
    }

    /// Forgets all: a registration may change.
    mutating func removeAll() {
        guard !isEmpty else { return }
        for index in entries.indices { entries[index] = nil }
        isEmpty = true
    }
}
