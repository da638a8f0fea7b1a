/// Decodes field blocks (RFC 7541, 3.2 and 6; RFC 9113, 4.3).
struct FieldDecoder {
    private var table = DynamicTable(maximumSize: 4_096)
    /// The largest size that the peer's encoder may choose: our SETTINGS_HEADER_TABLE_SIZE (RFC 7541, 4.2).
    private var limit = 4_096
    /// The limit was reduced below the table's size, so the next block has to begin with a change of the size (RFC
    /// 9113, 4.3.1).
    private var needsResize = false

    /// The fields of the last block whose message was valid.
    private var known = KnownFields()
    /// The fields of the block that was decoded last, of whose message nothing is known yet.
    private var latest = KnownFields()

    /// The size of the list that was decoded last, as SETTINGS_MAX_HEADER_LIST_SIZE counts it.
    private(set) var listBytes = 0
    /// Whether that list exceeds its limit. The fields beyond the limit were not kept.
    private(set) var isTooLarge = false

    /// What a field counts in addition to its bytes (RFC 9113, 6.5.2).
    private static let fieldOverhead = 32

    /// The number of bytes in the dynamic table, as RFC 7541 counts them (4.1).
    var tableBytes: Int { table.size }
    /// The bytes that the table has allocated for names and values.
    var tableCapacity: Int { table.bytes.capacity }

    /// Changes the largest size of the table: our setting was sent or acknowledged.
    mutating func setLimit(_ bytes: Int) {
        limit = bytes
        if table.maximumSize > bytes { needsResize = true }
    }

    /// The message of the block that was decoded last is valid: fields of the next block that are the same need not be
    /// decoded.
    mutating func keepFields() {
        swap(&known, &latest)
        latest.removeAll()
    }

    /// The message of the block that was decoded last is not valid, or is not one that comes again.
    mutating func forgetFields() {
        known.removeAll()
        latest.removeAll()
    }

    /// The bytes that are allocated for the fields of earlier blocks.
    var knownCapacity: Int { known.capacity + latest.capacity }

    mutating func releaseIdleMemory() {
        table.releaseIdleMemory()
        (known, latest) = (KnownFields(), KnownFields())
    }

    /// Decodes a whole block. A fault is a connection error, because the compression state is lost.
    /// - Parameters:
    ///   - list: gets the fields, as far as they fit.
    ///   - maximum: the largest list, in bytes.
    ///   - bomb: the number of bytes from which on the list is an attack.
    mutating func decode(
        _ block: Span<UInt8>, into list: inout FieldList, maximum: Int, bomb: Int
    ) throws(Fault) {
        list.removeAll()
        latest.removeAll()
        listBytes = 0
        isTooLarge = false
        var offset = 0
        var isBeginning = true
        while offset < block.count {
            let byte = block[offset]
            if byte & 0xe0 == 0x20 {
                guard isBeginning else {
                    throw Fault(.compressionError, "RFC 7541, 4.2", "the table's size changes within a field block")
                }
                try resize(block, &offset)
                continue
            }
            isBeginning = false
            try checkResize()
            if byte & 0xe0 == 0, repeated(block, &offset, &list, maximum) { continue }
            let (start, begin) = (list.bytes.count, offset)
            let nameEnd: Int
            let form: FieldForm
            var dependsOnTable = true
            if byte & 0x80 != 0 {
                form = .indexed
                nameEnd = try indexed(block, &offset, &list)
            } else {
                let prefix: UInt8 = byte & 0x40 != 0 ? 6 : 4
                form = byte & 0x40 != 0 ? .incremental : byte & 0x10 != 0 ? .neverIndexed : .withoutIndexing
                (nameEnd, dependsOnTable) = try literal(block, &offset, prefix, &list)
                if form == .incremental { dependsOnTable = true }
            }
            let end = list.bytes.count
            if form == .incremental {
                let bytes = list.bytes.span
                table.insert(name: bytes.extracting(start..<nameEnd), value: bytes.extracting(nameEnd..<end))
            }
            listBytes += end - start + Self.fieldOverhead
            guard listBytes <= maximum else {
                isTooLarge = true
                list.bytes.removeSubrange(start...)
                guard listBytes <= bomb else { throw Fault(flood: .headers) }
                continue
            }
            list.append(start: start, nameEnd: nameEnd, form)
            latest.append(
                encoded: block.extracting(begin..<(dependsOnTable ? begin : offset)),
                text: list.bytes.span.extracting(start..<end), nameCount: nameEnd - start, form: form)
        }
        try checkResize()
    }

    /// Appends the next field, if it is the same as the one in its place of the last valid block.
    private mutating func repeated(
        _ block: Span<UInt8>, _ offset: inout Int, _ list: inout FieldList, _ maximum: Int
    ) -> Bool {
        let rest = block.extracting(offset..<block.count)
        guard let entry = known.entry(at: list.count, beginning: rest) else { return false }
        let (nameCount, count) = (Int(entry.nameCount), Int(entry.encodedCount))
        let text = known.text(of: entry)
        // The caller handles a list that is too large.
        guard listBytes + text.count + Self.fieldOverhead <= maximum else { return false }
        listBytes += text.count + Self.fieldOverhead
        let start = list.bytes.count
        list.bytes.append(copying: known.bytes.span.extracting(text))
        list.append(start: start, nameEnd: start + nameCount, entry.form, isRepeated: true)
        latest.append(
            encoded: rest.extracting(..<count), text: list.bytes.span.extracting(start..<list.bytes.count),
            nameCount: nameCount, form: entry.form)
        offset += count
        return true
    }

    /// RFC 9113, 4.3.1: after our limit was reduced, the block begins with a change of the size.
    private func checkResize() throws(Fault) {
        guard !needsResize else {
            throw Fault(
                .compressionError, "RFC 9113, 4.3.1", "a field block does not begin with the reduced table size")
        }
    }

    /// RFC 7541, 6.3: a change of the table's size, up to our limit.
    private mutating func resize(_ block: Span<UInt8>, _ offset: inout Int) throws(Fault) {
        let size = try PrefixInteger.read(block, at: &offset, prefix: 5)
        guard size <= limit else {
            throw Fault(.compressionError, "RFC 7541, 6.3", "the table's size exceeds SETTINGS_HEADER_TABLE_SIZE")
        }
        needsResize = false
        table.resize(to: size)
    }

    /// RFC 7541, 6.1. Appends the name and the value, and returns where the name ends.
    private func indexed(
        _ block: Span<UInt8>, _ offset: inout Int, _ list: inout FieldList
    ) throws(Fault) -> Int {
        let index = try PrefixInteger.read(block, at: &offset, prefix: 7)
        guard index > 0 else { throw Self.unknownIndex }
        let end: Int
        if index <= StaticTable.count {
            StaticTable.appendName(index, to: &list.bytes)
            end = list.bytes.count
            StaticTable.appendValue(index, to: &list.bytes)
        } else {
            guard let entry = table[index - StaticTable.count - 1] else { throw Self.unknownIndex }
            list.bytes.append(copying: table.bytes.span.extracting(entry.name))
            end = list.bytes.count
            list.bytes.append(copying: table.bytes.span.extracting(entry.value))
        }
        return end
    }

    /// RFC 7541, 6.2. Appends the name and the value, and returns where the name ends, and whether it is from the dynamic
    /// table.
    private func literal(
        _ block: Span<UInt8>, _ offset: inout Int, _ prefix: UInt8, _ list: inout FieldList
    ) throws(Fault) -> (nameEnd: Int, dependsOnTable: Bool) {
        let index = try PrefixInteger.read(block, at: &offset, prefix: prefix)
        if index == 0 {
            try string(block, &offset, &list)
        } else if index <= StaticTable.count {
            StaticTable.appendName(index, to: &list.bytes)
        } else {
            guard let entry = table[index - StaticTable.count - 1] else { throw Self.unknownIndex }
            list.bytes.append(copying: table.bytes.span.extracting(entry.name))
        }
        let end = list.bytes.count
        try string(block, &offset, &list)
        return (end, index > StaticTable.count)
    }

    /// RFC 7541, 5.2. Appends the text.
    private func string(_ block: Span<UInt8>, _ offset: inout Int, _ list: inout FieldList) throws(Fault) {
        let isHuffman = offset < block.count && block[offset] & 0x80 != 0
        let count = try PrefixInteger.read(block, at: &offset, prefix: 7)
        guard count <= block.count - offset else {
            throw Fault(.compressionError, "RFC 9113, 4.3", "a field block ends within a text")
        }
        let text = block.extracting(offset..<offset + count)
        offset += count
        guard isHuffman else {
            list.bytes.append(copying: text)
            return
        }
        var isValid = true
        list.bytes.append(addingCapacity: HuffmanDecoder.maximumCount(of: count)) { output in
            isValid = HuffmanDecoder.decode(text, into: &output)
        }
        guard isValid else {
            throw Fault(.compressionError, "RFC 7541, 5.2", "a text is not valid Huffman code")
        }
    }

    /// RFC 7541, 2.3.3 and 6.1: the index 0, and indices beyond both tables, are decoding errors.
    private static var unknownIndex: Fault {
        Fault(.compressionError, "RFC 7541, 2.3.3", "an index is in neither table")
    }
}
