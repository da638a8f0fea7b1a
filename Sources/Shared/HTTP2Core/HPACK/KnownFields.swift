/// The fields of the block that was decoded last, and the block itself, to find the fields that come again in the next one.
///
/// A client sends most fields again and again, such as its provider token. If the bytes of a representation are those of the
/// field in the same place of the block before, they stand for the same name and value (RFC 7541, 6.1 to 6.3), unless they
/// read a dynamic table that has changed since, or change it. What was found about their characters is true again as well. So
/// one comparison takes the place of decoding and checking, and the field stays where it is.
///
/// That is sound because the block before was decoded as a whole and its message was found valid: a block that is not kept
/// by `keep` is forgotten when the next one begins.
///
/// The list is revised from its beginning to its end: while a block is decoded, the fields before `place` are its own, and
/// those from `place` on are left of the block before.
struct KnownFields {
    /// How a field of the list was represented.
    private struct Source {
        /// Where its representation begins in its block.
        var start: UInt16
        /// The length of its representation in bytes; 0 if the field has to be decoded each time.
        var count: UInt16
        /// The version of the dynamic table that the representation reads; nil if it reads none.
        var table: UInt32?
    }

    /// The most bytes that are kept of a block and the texts of its fields. A usual request has 1,200. With `maxFields`
    /// fields this makes 4 KiB.
    static let maxBytes = 3_072
    /// The most fields that are compared.
    static let maxFields = 32

    /// The most bytes that are compared at once, unless one field has more: a usual request takes two or three comparisons, and
    /// a block that was made to need many is compared in less time than it takes to decode.
    static let maxLookAhead = 512

    /// The fields.
    private(set) var list = FieldList()
    /// How the first fields of the list were represented.
    private var sources: [Source] = []
    /// The block that the fields from `place` on are of.
    private var block: [UInt8] = []
    /// Whether `block` and `sources` are of the same block, and its message is valid.
    private var isKept = false
    /// The number of fields that the block that is being decoded has so far.
    private(set) var place = 0
    /// How far behind their places in `block` the bytes of the new block are, and up to where in `block` they are the same.
    /// Fields that follow each other are compared together.
    private var same = (distance: 0, end: 0)

    /// The memory that is allocated beside the list, in bytes.
    var capacity: Int { block.capacity + sources.capacity * MemoryLayout<Source>.stride }

    /// Begins with a new block.
    mutating func begin() {
        place = 0
        same.end = 0
        guard !isKept else { return isKept = false }
        list.removeAll()
        sources.removeAll(keepingCapacity: true)
    }

    /// The bytes of the next field and its representation, if the field of the block before is repeated by what comes next.
    /// - Parameters:
    ///   - bytes: the new block.
    ///   - offset: where the next representation begins in it.
    ///   - table: the version of the dynamic table.
    mutating func repeated(
        in bytes: Span<UInt8>, at offset: Int, table: UInt32
    ) -> (textCount: Int, encodedCount: Int)? {
        guard place < sources.count, place < list.count else { return nil }
        let source = sources[place]
        let (start, count) = (Int(source.start), Int(source.count))  // fits: 16 bits each
        guard count > 0, source.table == nil || source.table == table else { return nil }
        if same.distance != offset - start || same.end < start + count {
            let compared = start..<min(block.count, start + max(count, Self.maxLookAhead))
            same = (offset - start, start + sameCount(of: compared, as: bytes.extracting(droppingFirst: offset)))
            guard start + count <= same.end else { return nil }
        }
        return (list.entries[place].textCount, count)
    }

    private func sameCount(of range: Range<Int>, as bytes: Span<UInt8>) -> Int {
        block.span.extracting(range).commonPrefix(with: bytes)
    }

    /// The next field is repeated.
    /// - Parameter start: where its representation begins in the new block.
    mutating func keep(from start: Int) {
        // Most fields are where they were, and reading is cheaper than writing.
        if sources[place].start != start { sources[place].start = UInt16(clamping: start) }
        if !list.entries[place].isRepeated { list.entries[place].isRepeated = true }
        place += 1
    }

    /// The next field is another one.
    /// - Parameters:
    ///   - text: its name, and its value after it.
    ///   - encoded: where its representation is in the new block; empty if it changes the dynamic table.
    ///   - table: the version of the dynamic table, if the representation reads it.
    mutating func put(_ text: Span<UInt8>, nameCount: Int, _ form: FieldForm, encoded: Range<Int>, table: UInt32?) {
        list.put(text, nameCount: nameCount, form, at: place)
        let source = Source(
            start: UInt16(clamping: encoded.lowerBound), count: UInt16(clamping: encoded.count), table: table)
        if place < sources.count {
            sources[place] = source
        } else if place == sources.count, place < Self.maxFields {
            if sources.capacity == 0 { sources.reserveCapacity(Self.maxFields) }
            sources.append(source)
        }
        place += 1
    }

    /// The block has ended: drops what is left of the one before.
    mutating func end() {
        list.keepFirst(place)
        if sources.count > place { sources.removeSubrange(place...) }
    }

    /// Keeps the block that was decoded, whose message was found valid, for the next one.
    mutating func keep(_ bytes: Span<UInt8>) {
        guard bytes.count + list.bytes.count <= Self.maxBytes else { return }
        // An array that grows may take twice what it needs.
        if block.capacity < bytes.count { block = [] }
        block.removeAll(keepingCapacity: true)
        block.append(copying: bytes)
        isKept = true
    }
}
