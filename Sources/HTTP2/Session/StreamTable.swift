/// What is known of each open stream, found by its number.
///
/// A session has at most some thousand open streams and nearly always asks for one of the newest, so the numbers stand
/// close together in an array of their own and are searched from the end: no hashing, no allocation per stream.
/// The order of the elements is not kept.
///
/// Public, where the rest of the module is `package`, for the compiler's sake alone: it specialises generic code of
/// another module only if that is public (Swift 6.3), and unspecialised this table took a tenth of a request's time.
public struct StreamTable<Element> {
    @usableFromInline var ids: ContiguousArray<Int32> = []
    @usableFromInline var elements: ContiguousArray<Element> = []

    /// An empty table that has allocated nothing.
    @inlinable public init() {}

    /// How many streams there are.
    @inlinable public var count: Int { ids.count }
    /// Whether there is none.
    @inlinable public var isEmpty: Bool { ids.isEmpty }

    /// Where a stream stands, until the next `append` or `remove`; nil if it is not in the table.
    @inlinable
    public func index(of stream: StreamID) -> Int? {
        ids.withUnsafeBytes { bytes in
            let width = 16
            var end = bytes.count / MemoryLayout<Int32>.stride
            // Nearly always: headers and body of a request come one after the other.
            let last = (end &- 1) &* MemoryLayout<Int32>.stride
            if end > 0, bytes.load(fromByteOffset: last, as: Int32.self) == stream.rawValue { return end &- 1 }
            let wanted = SIMD16<Int32>(repeating: stream.rawValue)
            // A thousand streams that end in the order in which they began make this the longest way: sixteen at once.
            while end >= width {
                let offset = (end &- width) &* MemoryLayout<Int32>.stride
                let found = bytes.loadUnaligned(fromByteOffset: offset, as: SIMD16<Int32>.self) .== wanted
                if any(found) {
                    for lane in 0..<width where found[lane] { return end &- width &+ lane }
                }
                end &-= width
            }
            while end > 0 {
                end &-= 1
                if bytes.load(fromByteOffset: end &* MemoryLayout<Int32>.stride, as: Int32.self) == stream.rawValue {
                    return end
                }
            }
            return nil
        }
    }

    /// Whether the stream is in the table.
    @inlinable public func contains(_ stream: StreamID) -> Bool { index(of: stream) != nil }

    /// The element at a position found by `index(of:)`, changed in place.
    @inlinable
    public subscript(index: Int) -> Element {
        _read { yield elements[index] }
        _modify { yield &elements[index] }
    }

    /// The streams whose element is chosen: to go over them while the table may change.
    @inlinable
    public func streams(where isChosen: (Element) -> Bool) -> [StreamID] {
        var chosen: [StreamID] = []
        for index in ids.indices where isChosen(elements[index]) { chosen.append(StreamID(ids[index])) }
        return chosen
    }

    /// Changes a stream's element in place; nil if it is not in the table. What `change` does must not come back here.
    @inlinable
    public mutating func update<Result>(_ stream: StreamID, _ change: (inout Element) -> Result) -> Result? {
        guard let index = index(of: stream) else { return nil }
        return change(&elements[index])
    }

    /// Adds a stream. The caller knows that it is not in the table yet.
    @inlinable
    public mutating func append(_ stream: StreamID, _ element: Element) {
        ids.append(stream.rawValue)
        elements.append(element)
    }

    /// Takes a stream out; nil if it was not there.
    @inlinable
    @discardableResult
    public mutating func remove(_ stream: StreamID) -> Element? {
        guard let index = index(of: stream) else { return nil }
        let (lastID, last) = (ids.removeLast(), elements.removeLast())
        guard index < ids.count else { return last }
        ids[index] = lastID
        // An exchange moves both elements; taking one out and putting the other in would copy them.
        var removed = last
        swap(&elements[index], &removed)
        return removed
    }

    /// Takes out all streams, in the order of their numbers.
    public mutating func removeAll() -> [(stream: StreamID, element: Element)] {
        let all = zip(ids, elements).map { (stream: StreamID($0), element: $1) }.sorted { $0.stream < $1.stream }
        ids = []
        elements = []
        return all
    }
}
