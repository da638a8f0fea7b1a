import Notifications
import Synchronization

/// The contents of device tokens that were opened recently. Providers send to the same devices again and again, and
/// decryption costs more than all other checks of a request together.
///
/// Only valid tokens are remembered, by all of their 32 bytes, so a forged token finds nothing here. A fast answer
/// shows only that the token is valid and in use, which the answer itself says.
final class OpenedTokens: Sendable {
    /// Each has its own lock, so that two event loops seldom wait for each other.
    static let shardCount = 16

    /// The number of remembered tokens in each shard: in total 262,144 tokens of 64 bytes, at most 16 MiB, which are
    /// allocated when needed. If more tokens are in use, the service decrypts some of them again.
    static let maximumSlotsPerShard = 16384
    static let firstSlots = 64

    private final class Shard: Sendable {
        let slots = Mutex(Slots())
    }

    private let shards = (0..<OpenedTokens.shardCount).map { _ in Shard() }

    /// The contents of a remembered token. Nil for longer tokens, which only tests use: two of them could have the
    /// same first bytes.
    func contents(of token: DeviceToken, environment: Environment) -> DeviceTokenContents? {
        guard token.count == DeviceToken.byteCount else { return nil }
        let key = Slots.Key(token, environment)
        return shards[key.shard].slots.withLock { $0[key] }
    }

    func remember(_ contents: DeviceTokenContents, of token: DeviceToken, environment: Environment) {
        guard token.count == DeviceToken.byteCount else { return }
        let key = Slots.Key(token, environment)
        shards[key.shard].slots.withLock { $0.insert(contents, for: key) }
    }

    /// The number of remembered tokens.
    var count: Int { shards.reduce(0) { $0 + $1.slots.withLock { $0.used } } }
}

/// A table in which each token has four places, next to each other. If all four are taken, a new token replaces one of
/// them in turn. With a single place for each token, a half-full table would lose a fifth of its tokens.
private struct Slots {
    struct Key {
        let words: SIMD4<UInt64>
        /// Never 0, which marks a free slot.
        let environment: UInt64

        init(_ token: DeviceToken, _ environment: Environment) {
            words = unsafeBitCast(token.bytes, to: SIMD4<UInt64>.self)
            self.environment =
                switch environment {
                case .development: 1
                case .production: 2
                }
        }

        // Valid tokens are ciphertext, so any of their bits can serve as a hash. The tag's come last.
        var shard: Int { Int(truncatingIfNeeded: words[3]) & (OpenedTokens.shardCount - 1) }
        var place: Int { Int(truncatingIfNeeded: words[2] & UInt64(Int.max)) }
    }

    /// A token and its contents in eight words, which begin at a multiple of 64 bytes: one line of the processor's cache.
    /// With 100,000 tokens nearly every look-up waits for memory, and this way it waits once.
    private struct Slot {
        static let free = Slot(words: .zero)

        private let words: SIMD8<UInt64>

        private init(words: SIMD8<UInt64>) { self.words = words }

        /// Tokens of this length have no activity, and a place for one would double the size of the table.
        init(key: Key, contents: DeviceTokenContents) {
            let rest = SIMD4(
                // fits: 32 bits each
                contents.device.rawValue, UInt64(contents.app.rawValue), UInt64(contents.number), key.environment)
            words = SIMD8(lowHalf: key.words, highHalf: rest)
        }

        var isFree: Bool { words[7] == 0 }

        /// The place of the token, as in its key.
        var place: Int { Int(truncatingIfNeeded: words[2] & UInt64(Int.max)) }

        func isOf(_ key: Key) -> Bool { words[7] == key.environment && words.lowHalf == key.words }

        func hasToken(of other: Slot) -> Bool { words[7] == other.words[7] && words.lowHalf == other.words.lowHalf }

        var contents: DeviceTokenContents {
            DeviceTokenContents(
                device: DeviceID(rawValue: words[4]), app: AppID(rawValue: UInt32(truncatingIfNeeded: words[5])),
                number: UInt32(truncatingIfNeeded: words[6]))
        }
    }

    private static let ways = 4

    private var slots: ContiguousArray<Slot> = []
    private(set) var used = 0
    /// Which of four taken places the next token gets.
    private var turn = 0

    subscript(key: Key) -> DeviceTokenContents? {
        guard !slots.isEmpty else { return nil }
        for way in 0..<Self.ways {
            let index = index(key.place, way)
            if slots[index].isOf(key) { return slots[index].contents }
        }
        return nil
    }

    private func index(_ place: Int, _ way: Int) -> Int { (place ^ way) & (slots.count - 1) }

    mutating func insert(_ contents: DeviceTokenContents, for key: Key) {
        // In a fuller table too many tokens would find all of their four places taken, and would be decrypted again.
        if slots.isEmpty || used > slots.count / 2, slots.count < OpenedTokens.maximumSlotsPerShard { grow() }
        put(Slot(key: key, contents: contents))
    }

    private mutating func put(_ slot: Slot) {
        for way in 0..<Self.ways {
            let index = index(slot.place, way)
            guard slots[index].isFree || slots[index].hasToken(of: slot) else { continue }
            if slots[index].isFree { used += 1 }
            return slots[index] = slot
        }
        turn &+= 1
        slots[index(slot.place, turn & (Self.ways - 1))] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = ContiguousArray(repeating: .free, count: max(OpenedTokens.firstSlots, old.count * 2))
        used = 0
        for slot in old where !slot.isFree { put(slot) }
    }
}
