public import HTTP2Core

/// The open streams of a session by their numbers.
///
/// A session has at most some thousand open streams, and nearly always one of the newest is needed. So the numbers are
/// in a separate array that is searched from its end, without hashing and without an allocation for each stream. The
/// elements have no particular order.
///
/// Public, unlike the rest of the module, for performance: the compiler specialises generic code of another module only
/// if it is public (Swift 6.3). Without specialisation this table took a tenth of a request's time.
public struct StreamTable<Element> {
    @usableFromInline var ids: ContiguousArray<UInt32> = []
    @usableFromInline var elements: ContiguousArray<Element> = []

    /// Makes an empty table, without an allocation.
    @inlinable public init() {}

    /// The number of streams.
    @inlinable public var count: Int { ids.count }
    /// Whether the table is empty.
    @inlinable public var isEmpty: Bool { ids.isEmpty }

    /// The index of a stream; nil if it is not in the table. It is valid until the next `append` or `remove`.
    @inlinable
    public func index(of stream: StreamID) -> Int? {
        // This is the common case: the headers and the body of a request follow each other.
        if ids.last == stream.rawValue { return ids.count &- 1 }
        return search(for: stream)
    }

    @usableFromInline
    func search(for stream: StreamID) -> Int? {
        ids.withUnsafeBytes { bytes in
            let width = 16
            var end = bytes.count / MemoryLayout<UInt32>.stride
            let wanted = SIMD16<UInt32>(repeating: stream.rawValue)
            // The search is longest if a thousand streams end in the order in which they began, so compare sixteen
            // numbers at a time.
            while end >= width {
                let offset = (end &- width) &* MemoryLayout<UInt32>.stride
                let found = bytes.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt32>.self) .== wanted
                if any(found) {
                    for lane in 0..<width where found[lane] { return end &- width &+ lane }
                }
                end &-= width
            }
            while end > 0 {
                end &-= 1
                if bytes.load(fromByteOffset: end &* MemoryLayout<UInt32>.stride, as: UInt32.self) == stream.rawValue {
                    return end
                }
            }
            return nil
        }
    }

    /// Whether the stream is in the table.
    @inlinable public func contains(_ stream: StreamID) -> Bool { index(of: stream) != nil }

    /// Accesses the element at an index of `index(of:)` in place.
    @inlinable
    public subscript(index: Int) -> Element {
        _read { yield elements[index] }
        _modify { yield &elements[index] }
    }

    /// The element of a stream; nil if the stream is not in the table.
    @inlinable public subscript(stream: StreamID) -> Element? { index(of: stream).map { elements[$0] } }

    /// The streams whose elements meet the condition, for a loop that changes the table.
    @inlinable
    public func streams(where isChosen: (Element) -> Bool) -> [StreamID] {
        var chosen: [StreamID] = []
        for index in ids.indices where isChosen(elements[index]) { chosen.append(StreamID(ids[index])) }
        return chosen
    }

    /// Changes a stream's element in place; nil if it is not in the table. `change` must not use this table.
    @inlinable
    public mutating func update<Result>(_ stream: StreamID, _ change: (inout Element) -> Result) -> Result? {
        guard let index = index(of: stream) else { return nil }
        return change(&elements[index])
    }

    /// Adds a stream that is not in the table yet.
    @inlinable
    public mutating func append(_ stream: StreamID, _ element: Element) {
        assert(!contains(stream), "The stream is in the table already.")
        ids.append(stream.rawValue)
        elements.append(element)
    }

    /// Removes a stream; nil if it is not in the table.
    @inlinable
    @discardableResult
    public mutating func remove(_ stream: StreamID) -> Element? {
        guard let index = index(of: stream) else { return nil }
        let (lastID, last) = (ids.removeLast(), elements.removeLast())
        guard index < ids.count else { return last }
        ids[index] = lastID
        // Swap the elements: removing and inserting would copy them.
        var removed = last
        swap(&elements[index], &removed)
        return removed
    }

    /// Removes all streams, in the order of their numbers.
    public mutating func removeAll() -> [(stream: StreamID, element: Element)] {
        let all = zip(ids, elements).map { (stream: StreamID($0), element: $1) }.sorted { $0.stream < $1.stream }
        ids = []
        elements = []
        return all
    }
}
