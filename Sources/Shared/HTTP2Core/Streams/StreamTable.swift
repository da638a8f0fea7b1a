/// What somebody keeps for each open stream of a connection: the protocol's state, a session's, or a request.
///
/// The elements are next to each other, in no particular order. A hash table with linear probing has their places: streams
/// have consecutive odd numbers, so half of a number is its hash. There is no allocation for each stream, and an empty table
/// that has released its memory takes none.
///
/// Public, unlike the rest of the module, for performance: the compiler specialises generic code of another module only
/// if it is public (Swift 6.3). Without specialisation a table took a tenth of a request's time.
public struct StreamTable<Element> {
    @usableFromInline var ids: ContiguousArray<UInt32> = []
    @usableFromInline var elements: ContiguousArray<Element> = []
    /// The place of an element, plus 1; 0 for an empty slot. There is a power of two of slots, of which at most half are used.
    @usableFromInline var slots: ContiguousArray<UInt32> = []

    @usableFromInline static var minimumSlots: Int { 4 }

    /// Makes an empty table, without an allocation.
    @inlinable public init() {}

    /// The number of streams.
    @inlinable public var count: Int { ids.count }
    /// Whether the table is empty.
    @inlinable public var isEmpty: Bool { ids.isEmpty }
    /// The number of slots that are allocated.
    package var capacity: Int { slots.count }

    @inlinable func home(_ id: UInt32) -> Int { Int(truncatingIfNeeded: id &>> 1) & (slots.count &- 1) }
    @inlinable func after(_ slot: Int) -> Int { (slot &+ 1) & (slots.count &- 1) }

    /// The place of the element in a slot that is not empty.
    @inlinable func place(_ slot: Int) -> Int { Int(truncatingIfNeeded: slots[slot]) &- 1 }

    /// The slot of a stream; nil if it is not in the table.
    @inlinable
    func slot(of id: UInt32) -> Int? {
        guard !slots.isEmpty else { return nil }
        var slot = home(id)
        // Half of the slots are empty, so the loop ends.
        while slots[slot] != 0 {
            if ids[place(slot)] == id { return slot }
            slot = after(slot)
        }
        return nil
    }

    /// The index of a stream; nil if it is not in the table. It is valid until the next `append` or `remove`.
    @inlinable
    public func index(of stream: StreamID) -> Int? {
        // This is the common case: the fields and the content of a request follow each other.
        if ids.last == stream.rawValue { return ids.count &- 1 }
        return slot(of: stream.rawValue).map { place($0) }
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

    /// Changes the element at an index of `index(of:)` in place. `change` must not use this table.
    @inlinable
    public mutating func update<Result>(at index: Int, _ change: (inout Element) -> Result) -> Result {
        change(&elements[index])
    }

    /// Changes a stream's element in place; nil if it is not in the table. `change` must not use this table.
    @inlinable
    public mutating func update<Result>(_ stream: StreamID, _ change: (inout Element) -> Result) -> Result? {
        guard let index = index(of: stream) else { return nil }
        return change(&elements[index])
    }

    /// Changes every element. Stops if `change` returns false, and returns whether all were changed.
    @inlinable
    public mutating func updateAll(_ change: (inout Element) -> Bool) -> Bool {
        elements.indices.allSatisfy { change(&elements[$0]) }
    }

    /// Adds a stream that is not in the table yet.
    @inlinable
    public mutating func append(_ stream: StreamID, _ element: Element) {
        assert(!contains(stream), "The stream is in the table already.")
        ids.append(stream.rawValue)
        elements.append(element)
        if ids.count &* 2 > slots.count {
            resize(to: max(Self.minimumSlots, slots.count &* 2))
        } else {
            occupy(ids.count &- 1)
        }
    }

    /// Puts a place into the first slot from its stream's home on whose stream is nearer to its own home, and that one
    /// likewise. So the streams that follow each other without an empty slot are in the order of their homes.
    @inlinable
    mutating func occupy(_ place: Int) {
        var entry = UInt32(truncatingIfNeeded: place &+ 1)
        var slot = home(ids[place])
        var distance = 0
        while slots[slot] != 0 {
            let other = self.distance(at: slot)
            if other < distance {
                swap(&slots[slot], &entry)
                distance = other
            }
            slot = after(slot)
            distance &+= 1
        }
        slots[slot] = entry
    }

    /// How far behind its home the stream in a slot is.
    @inlinable func distance(at slot: Int) -> Int { (slot &- home(ids[place(slot)])) & (slots.count &- 1) }

    @usableFromInline
    mutating func resize(to size: Int) {
        slots = ContiguousArray(repeating: 0, count: size)
        for place in ids.indices { occupy(place) }
    }

    /// Removes a stream; nil if it is not in the table.
    @inlinable
    @discardableResult
    public mutating func remove(_ stream: StreamID) -> Element? {
        guard let slot = slot(of: stream.rawValue) else { return nil }
        let place = place(slot)
        free(slot)
        // The last element takes the place of the removed one.
        let lastPlace = ids.count &- 1
        if place < lastPlace, let slot = self.slot(of: ids[lastPlace]) {
            slots[slot] = UInt32(truncatingIfNeeded: place &+ 1)
        }
        let (lastID, last) = (ids.removeLast(), elements.removeLast())
        guard place < lastPlace else { return last }
        ids[place] = lastID
        // Swap the elements: removing and inserting would copy them.
        var removed = last
        swap(&elements[place], &removed)
        return removed
    }

    /// Empties a slot. The streams behind it move back, up to one that is at home: the ones after that are as near to their
    /// homes as they can be.
    @inlinable
    mutating func free(_ slot: Int) {
        var free = slot
        var next = after(slot)
        while slots[next] != 0, distance(at: next) > 0 {
            slots[free] = slots[next]
            free = next
            next = after(next)
        }
        slots[free] = 0
    }

    /// The streams whose elements meet the condition, in the order of their numbers, for a loop that changes the table.
    @inlinable
    public func streams(where isChosen: (Element) -> Bool) -> [StreamID] {
        var chosen: [StreamID] = []
        for index in ids.indices where isChosen(elements[index]) { chosen.append(StreamID(ids[index])) }
        return chosen.sorted()
    }

    /// Removes all streams, in the order of their numbers.
    public mutating func removeAll() -> [(stream: StreamID, element: Element)] {
        let all = zip(ids, elements).map { (stream: StreamID($0), element: $1) }.sorted { $0.stream < $1.stream }
        self = StreamTable()
        return all
    }

    /// Releases memory that was needed for more streams.
    package mutating func releaseIdleMemory() {
        guard !isEmpty else { return self = StreamTable() }
        var size = Self.minimumSlots
        while size < count * 2 { size *= 2 }
        guard size < slots.count else { return }
        (ids, elements) = (ContiguousArray(Array(ids)), ContiguousArray(Array(elements)))
        resize(to: size)
    }
}
