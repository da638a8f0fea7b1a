/// A dictionary in many small parts. A copy shares the parts, and a change copies one of them: so a snapshot of the accounts
/// with 100,000 grants costs as much as one with a hundred.
package struct ShardedTable<Key: Hashable & Sendable, Value: Hashable & Sendable>: Sendable, Hashable {
    /// The number of parts. A change copies a list of this many references and, of 100,000 values, a part with a hundred.
    private static var parts: Int { 1024 }

    /// Empty until there is a value.
    private var shards: [[Key: Value]] = []
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }
    package var keys: some Sequence<Key> { shards.lazy.flatMap(\.keys) }
    package var values: some Sequence<Value> { shards.lazy.flatMap(\.values) }

    // fits: less than the number of parts, which is a constant
    private static func part(of key: Key) -> Int { Int(UInt(bitPattern: key.hashValue) % UInt(parts)) }

    package subscript(key: Key) -> Value? {
        get { shards.isEmpty ? nil : shards[Self.part(of: key)][key] }
        set {
            if shards.isEmpty {
                guard newValue != nil else { return }
                shards = Array(repeating: [:], count: Self.parts)
            }
            let part = Self.part(of: key)
            let before = shards[part].count
            shards[part][key] = newValue
            count += shards[part].count - before
        }
    }

    package static func == (left: ShardedTable, right: ShardedTable) -> Bool {
        left.count == right.count && (left.isEmpty || left.shards == right.shards)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
