/// The fields of a field block, as they were encoded and as what they were decoded, to find those that come again.
///
/// A client sends most fields again and again, such as its provider token. If the bytes of a representation are those of the
/// field in the same place of the block before, and it neither reads nor changes the dynamic table, then it stands for the same
/// name and value (RFC 7541, 6.2.2 and 6.2.3), and what was found about their characters is true again. So one comparison takes
/// the place of decoding and checking. `FieldDecoder` keeps such a value only of a block that was decoded as a whole, and
/// whose message was found valid.
///
/// All parts of a field are appended together, so they cannot disagree: an entry names a range of `bytes` that has its
/// representation, and after it its name and its value.
struct KnownFields {
    struct Entry {
        /// Where the representation begins in `bytes`.
        var start: UInt16
        /// The length of the representation; 0 if the field has to be decoded each time.
        var encodedCount: UInt16
        var nameCount: UInt16
        var valueCount: UInt16
        var form: FieldForm
    }

    /// The most bytes that are kept. A usual request has 700. A connection has two such values, which take 4 KiB together with
    /// their entries.
    static let maxBytes = 1_600
    /// The most fields that are kept.
    static let maxFields = 32

    private(set) var bytes: [UInt8] = []
    private var entries: [Entry] = []

    /// The memory that is allocated, in bytes.
    var capacity: Int { bytes.capacity + entries.capacity * MemoryLayout<Entry>.stride }

    /// Forgets the fields, and keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// Adds the next field of the block. A field that has no room is one that has to be decoded.
    /// - Parameters:
    ///   - encoded: its representation; empty if it depends on the dynamic table.
    ///   - text: its name, and its value after it.
    mutating func append(encoded: Span<UInt8>, text: Span<UInt8>, nameCount: Int, form: FieldForm) {
        guard entries.count < Self.maxFields else { return }
        if entries.capacity == 0 { entries.reserveCapacity(Self.maxFields) }
        let start = bytes.count
        let isKept = !encoded.isEmpty && encoded.count + text.count <= Self.maxBytes - start
        if isKept {
            if bytes.capacity == 0 { bytes.reserveCapacity(Self.maxBytes) }
            bytes.append(copying: encoded)
            bytes.append(copying: text)
        }
        entries.append(
            Entry(
                start: UInt16(clamping: start), encodedCount: isKept ? UInt16(clamping: encoded.count) : 0,
                nameCount: isKept ? UInt16(clamping: nameCount) : 0,
                valueCount: isKept ? UInt16(clamping: text.count - nameCount) : 0, form: form))
    }

    /// The field in a place of the block, if its representation is what comes next in other bytes.
    func entry(at place: Int, beginning rest: Span<UInt8>) -> Entry? {
        guard place < entries.count else { return nil }
        let entry = entries[place]
        let count = Int(entry.encodedCount)
        guard count > 0, count <= rest.count else { return nil }
        let start = Int(entry.start)
        return rest.extracting(..<count).isEqual(to: bytes.span.extracting(start..<start + count)) ? entry : nil
    }

    /// The name of a field, and its value after it.
    func text(of entry: Entry) -> Range<Int> {
        let start = Int(entry.start) + Int(entry.encodedCount)
        return start..<start + Int(entry.nameCount) + Int(entry.valueCount)
    }
}
