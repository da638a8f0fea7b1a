/// The members of a JSON object, in the order of their keys' code units. So the same object is always written with its
/// members in the same order.
///
/// Keys are compared code unit by code unit (RFC 8259, 8.3): é (U+00E9) and e with U+0301 are two keys.
public struct JSONMembers: Sendable {
    private var pairs: [(key: String, value: JSONValue)]

    /// No members.
    public init() { pairs = [] }

    /// The members of a dictionary.
    public init(_ members: [String: JSONValue]) { self.init(lastOf: members.map { ($0.key, $0.value) }) }

    /// Members in any order. If a key is given twice, the last value counts.
    package init(lastOf members: [(key: String, value: JSONValue)]) {
        self.init(sorted: Self.sorted(members))
    }

    /// Members in any order.
    /// - Parameter repeated: set to a key that is given twice. The last value counts.
    init(_ members: [(key: String, value: JSONValue)], repeated: inout String?) {
        let sorted = Self.sorted(members)
        repeated = zip(sorted, sorted.dropFirst()).first { $0.key.isSame(as: $1.key) }?.0.key
        self.init(sorted: sorted)
    }

    /// - Parameter members: sorted. Of several with the same key, the last one counts.
    private init(sorted members: [(key: String, value: JSONValue)]) {
        pairs = []
        pairs.reserveCapacity(members.count)
        for member in members {
            if pairs.last?.key.isSame(as: member.key) ?? false { pairs.removeLast() }
            pairs.append(member)
        }
    }

    /// Sorts the members. Those with the same key stay in their order.
    private static func sorted(
        _ members: [(key: String, value: JSONValue)]
    ) -> [(key: String, value: JSONValue)] {
        // The standard library's sort is stable, but does not promise it.
        members.enumerated().sorted { one, other in
            one.element.key.isSame(as: other.element.key)
                ? one.offset < other.offset : one.element.key.isBefore(other.element.key)
        }.map(\.element)
    }

    /// The value of a key; nil if there is no such member.
    public subscript(key: String) -> JSONValue? {
        get {
            let place = place(of: key)
            return place < pairs.count && pairs[place].key.isSame(as: key) ? pairs[place].value : nil
        }
        set {
            let place = place(of: key)
            let isPresent = place < pairs.count && pairs[place].key.isSame(as: key)
            switch (newValue, isPresent) {
            case (let value?, true): pairs[place].value = value
            case (let value?, false): pairs.insert((key, value), at: place)
            case (nil, true): pairs.remove(at: place)
            case (nil, false): break
            }
        }
    }

    /// The first place whose key is not before this one.
    private func place(of key: String) -> Int {
        var (low, high) = (0, pairs.count)
        while low < high {
            let middle = low + (high - low) / 2
            if pairs[middle].key.isBefore(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The keys, in the order of their code units.
    public var keys: [String] { pairs.map(\.key) }

    /// The values, in the order of their keys.
    public var values: [JSONValue] { pairs.map(\.value) }

    /// Removes a member.
    /// - Returns: its value; nil if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> JSONValue? {
        defer { self[key] = nil }
        return self[key]
    }

    /// The members that fulfil a condition.
    public func filter(_ isIncluded: ((key: String, value: JSONValue)) throws -> Bool) rethrows -> JSONMembers {
        var filtered = JSONMembers()
        filtered.pairs = try pairs.filter(isIncluded)
        return filtered
    }

    /// These members and others. The others' values count for keys that both have.
    public func merging(_ others: JSONMembers) -> JSONMembers { JSONMembers(lastOf: pairs + others.pairs) }
}

extension JSONMembers: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { pairs.count }
    public subscript(position: Int) -> (key: String, value: JSONValue) { pairs[position] }
}

extension JSONMembers: Hashable {
    public static func == (one: JSONMembers, other: JSONMembers) -> Bool {
        one.pairs.elementsEqual(other.pairs) { $0.key.isSame(as: $1.key) && $0.value == $1.value }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(pairs.count)
        for (key, value) in pairs {
            hasher.combine(key)
            hasher.combine(value)
        }
    }
}

extension JSONMembers: ExpressibleByDictionaryLiteral {
    /// If a key is given twice, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(lastOf: elements) }
}
