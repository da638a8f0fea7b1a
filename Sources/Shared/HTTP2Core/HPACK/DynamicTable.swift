/// The dynamic table (RFC 7541, 2.3.2 and 4), of a decoder or of an encoder.
///
/// The bytes of all entries are in one array, the oldest first. Evicted entries are dead bytes at its beginning, which
/// are removed when there are more of them than the table may have live ones. So the table allocates nothing for an
/// entry, and takes at most twice its maximum size. An empty table takes no memory.
struct DynamicTable {
    /// What each entry counts in addition to its bytes (RFC 7541, 4.1).
    static let entryOverhead = 32

    struct Entry {
        var start: Int
        var nameCount: Int
        var valueCount: Int

        var size: Int { nameCount + valueCount + DynamicTable.entryOverhead }
        var name: Range<Int> { start..<start + nameCount }
        var value: Range<Int> { start + nameCount..<start + nameCount + valueCount }
    }

    /// The names and values of the entries.
    private(set) var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// The position of the oldest entry that was not evicted.
    private var oldest = 0
    /// The size as RFC 7541 counts it (4.1).
    private(set) var size = 0
    /// The size that must not be exceeded (4.2).
    private(set) var maximumSize: Int
    /// Changes whenever an index may mean another entry. It begins again after 2^32 changes: far more than a block makes,
    /// and only the versions of two blocks that follow each other are compared.
    private(set) var version: UInt32 = 0

    init(maximumSize: Int) { self.maximumSize = maximumSize }

    var count: Int { entries.count - oldest }

    /// An entry; 0 is the newest (RFC 7541, 2.3.3).
    subscript(index: Int) -> Entry? {
        guard index >= 0, index < count else { return nil }
        return entries[entries.count - 1 - index]
    }

    /// Changes the maximum size, and evicts entries until the table fits (RFC 7541, 4.3).
    mutating func resize(to size: Int) {
        maximumSize = size
        version &+= 1
        evict(room: 0)
    }

    /// Adds an entry. Older entries are evicted until it fits. If it never fits, the table is empty afterwards, which
    /// is not an error (RFC 7541, 4.4).
    mutating func insert(name: Span<UInt8>, value: Span<UInt8>) {
        version &+= 1
        let added = name.count + value.count + Self.entryOverhead
        evict(room: added)
        guard added <= maximumSize else { return }
        entries.append(Entry(start: bytes.count, nameCount: name.count, valueCount: value.count))
        bytes.append(copying: name)
        bytes.append(copying: value)
        size += added
        assert(size <= maximumSize, "The table is larger than it may be.")
    }

    /// Evicts the oldest entries until there is room for so many more bytes (RFC 7541, 4.3 and 4.4).
    private mutating func evict(room: Int) {
        defer { assert(size >= 0 && size <= maximumSize, "The table is larger than it may be.") }
        while oldest < entries.count, size > maximumSize - room {
            size -= entries[oldest].size
            oldest += 1
        }
        if oldest == entries.count {
            if room > maximumSize || maximumSize == 0 {
                (bytes, entries) = ([], [])
            } else {
                bytes.removeAll(keepingCapacity: true)
                entries.removeAll(keepingCapacity: true)
            }
            oldest = 0
        } else if entries[oldest].start > maximumSize || oldest > entries.count / 2 && oldest > Self.deadEntries {
            compact()
        }
    }

    /// The number of evicted entries from which on they are removed, if they are more than half.
    private static let deadEntries = 64

    private mutating func compact() {
        let start = entries[oldest].start
        bytes.removeSubrange(..<start)
        entries.removeSubrange(..<oldest)
        oldest = 0
        for index in entries.indices { entries[index].start -= start }
    }

    /// Releases the room of entries that were evicted or did not come yet.
    mutating func releaseIdleMemory() {
        if oldest > 0 { compact() }
        bytes = Self.withoutRoom(bytes)
        entries = Self.withoutRoom(entries)
    }

    private static func withoutRoom<Element>(_ array: [Element]) -> [Element] {
        guard array.capacity > array.count else { return array }
        var copy: [Element] = []
        copy.reserveCapacity(array.count)
        copy.append(contentsOf: array)
        return copy
    }

    /// Finds the newest entry with a name.
    func find(_ name: Span<UInt8>) -> Int? {
        let bytes = bytes.span
        for index in 0..<count {
            guard let entry = self[index], entry.nameCount == name.count else { continue }
            if bytes.extracting(entry.name).isEqual(to: name) { return index }
        }
        return nil
    }

    /// Finds a field: the position of the newest entry with its name, and whether it has the value as well. An entry
    /// with the value is preferred.
    func find(_ name: Span<UInt8>, _ value: Span<UInt8>) -> (index: Int, hasValue: Bool)? {
        var withName: Int?
        let bytes = bytes.span
        for index in 0..<count {
            guard let entry = self[index], entry.nameCount == name.count else { continue }
            let hasCount = entry.valueCount == value.count
            guard hasCount || withName == nil else { continue }
            guard bytes.extracting(entry.name).isEqual(to: name) else { continue }
            if hasCount, bytes.extracting(entry.value).isEqual(to: value) { return (index, true) }
            if withName == nil { withName = index }
        }
        return withName.map { ($0, false) }
    }
}
