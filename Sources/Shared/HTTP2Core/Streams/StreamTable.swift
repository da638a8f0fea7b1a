/// The open streams by their numbers: a hash table with linear probing.
///
/// Streams have consecutive odd numbers, so half of the number is the hash, and open streams are next to each other.
/// The table takes memory only while streams are open, and there is no allocation for each stream.
struct StreamTable {
    /// The slots, a power of two of them, of which at most half are used; nil is an empty slot.
    private var slots: [Stream?] = []
    /// The number of open streams.
    private(set) var count = 0

    private static let minimumSlots = 4

    var isEmpty: Bool { count == 0 }
    /// The number of slots.
    var capacity: Int { slots.count }

    private func home(_ id: StreamID) -> Int { Int(id.rawValue >> 1) & (slots.count - 1) }
    private func after(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    /// The slot of a stream, until the next change of the table; nil if the stream is not open.
    func slot(of id: StreamID) -> Int? {
        guard count > 0 else { return nil }
        var slot = home(id)
        // Half of the slots are empty, so the loop ends.
        while let stream = slots[slot] {
            if stream.id == id { return slot }
            slot = after(slot)
        }
        return nil
    }

    func contains(_ id: StreamID) -> Bool { slot(of: id) != nil }

    /// The stream of a slot that `slot(of:)` has returned.
    func stream(at slot: Int) -> Stream? { slots[slot] }

    /// Changes the stream of a slot that `slot(of:)` has returned.
    @inline(__always)
    mutating func update<Result>(_ slot: Int, _ change: (inout Stream) -> Result) -> Result? {
        guard var stream = slots[slot] else { return nil }
        let result = change(&stream)
        slots[slot] = stream
        return result
    }

    /// Adds a stream that is not in the table yet.
    mutating func insert(_ stream: Stream) {
        assert(!contains(stream.id), "The stream is in the table already.")
        if (count + 1) * 2 > slots.count { resize(to: max(Self.minimumSlots, slots.count * 2)) }
        place(stream)
        count += 1
    }

    /// Puts a stream into the first slot from its home on whose stream is nearer to its own home, and that one likewise. So
    /// the streams that follow each other without an empty slot are in the order of their homes.
    private mutating func place(_ stream: Stream) {
        var (stream, slot) = (stream, home(stream.id))
        while let other = slots[slot] {
            if distance(of: other, at: slot) < distance(of: stream, at: slot) {
                slots[slot] = stream
                stream = other
            }
            slot = after(slot)
        }
        slots[slot] = stream
    }

    /// How far behind its home a stream is.
    private func distance(of stream: Stream, at slot: Int) -> Int { (slot - home(stream.id)) & (slots.count - 1) }

    private mutating func resize(to size: Int) {
        let old = slots
        slots = Array(repeating: nil, count: size)
        for case .some(let stream) in old { place(stream) }
    }

    /// Removes the stream of a slot that `slot(of:)` has returned. Moves the streams behind it back, up to one that is at
    /// home: the ones after that are as near to their homes as they can be.
    mutating func remove(at slot: Int) {
        assert(slots[slot] != nil, "The slot is empty.")
        count -= 1
        var free = slot
        while case let next = after(free), let stream = slots[next], distance(of: stream, at: next) > 0 {
            slots[free] = stream
            free = next
        }
        slots[free] = nil
    }

    /// The streams that meet the condition, in the order of their numbers.
    func ids(where isChosen: (Stream) -> Bool = { _ in true }) -> [StreamID] {
        var chosen: [StreamID] = []
        for case .some(let stream) in slots where isChosen(stream) { chosen.append(stream.id) }
        return chosen.sorted()
    }

    /// Changes every stream. Stops if `change` returns false, and returns whether all were changed.
    mutating func updateAll(_ change: (inout Stream) -> Bool) -> Bool {
        for slot in slots.indices {
            if let isGood = update(slot, change), !isGood { return false }
        }
        return true
    }

    /// Releases memory that was needed for more streams.
    mutating func releaseIdleMemory() {
        guard count > 0 else {
            slots = []
            return
        }
        var size = Self.minimumSlots
        while size < count * 2 { size *= 2 }
        if size < slots.count { resize(to: size) }
    }
}
