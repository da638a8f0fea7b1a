/// Decodes field blocks (RFC 7541, 3.2 and 6; RFC 9113, 4.3).
struct FieldDecoder {
    private var table = DynamicTable(maximumSize: 4_096)
    /// The largest size that the peer's encoder may choose: our SETTINGS_HEADER_TABLE_SIZE (RFC 7541, 4.2).
    private var limit = 4_096
    /// The limit was reduced below the table's size, so the next block has to begin with a change of the size (RFC
    /// 9113, 4.3.1).
    private var needsResize = false

    /// The fields of the block that was decoded last.
    private var known = KnownFields()
    /// The memory for the name and the value that are being decoded.
    private var scratch: [UInt8] = []

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

    /// The fields that were decoded last, as far as they fit.
    var fields: FieldList { known.list }

    /// The message of this block, which was decoded last, is valid and one that comes again: fields of the next block that
    /// are the same need not be decoded. Without this call all of them are.
    mutating func keepFields(of block: Span<UInt8>) { known.keep(block) }

    /// The bytes that are allocated to compare fields with those of the last block, without the list itself.
    var knownCapacity: Int { known.capacity }
    /// The bytes that are allocated to decode one field.
    var scratchCapacity: Int { scratch.capacity }

    mutating func releaseIdleMemory() {
        table.releaseIdleMemory()
        known = KnownFields()
        scratch = []
    }

    /// Decodes a whole block into `fields`. A fault is a connection error, because the compression state is lost.
    /// - Parameters:
    ///   - maximum: the largest list, in bytes.
    ///   - bomb: the number of bytes from which on the list is an attack.
    mutating func decode(_ block: Span<UInt8>, maximum: Int, bomb: Int) throws(Fault) {
        known.begin()
        // A member's span cannot be read while another member changes.
        var text: [UInt8] = []
        swap(&text, &scratch)
        defer {
            swap(&text, &scratch)
            known.end()
        }
        listBytes = 0
        isTooLarge = false
        var offset = 0
        var isBeginning = true
        while offset < block.count {
            if block[offset] & 0xe0 == 0x20 {
                guard isBeginning else {
                    throw Fault(.compressionError, "RFC 7541, 4.2", "the table's size changes within a field block")
                }
                try resize(block, &offset)
                continue
            }
            isBeginning = false
            try checkResize()
            if let field = known.repeated(in: block, at: offset, table: table.version),
                listBytes + field.textCount + Self.fieldOverhead <= maximum
            {
                listBytes += field.textCount + Self.fieldOverhead
                known.keep(from: offset)
                offset += field.encodedCount
                continue
            }
            let begin = offset
            let field = try representation(block, &offset, &text)
            listBytes += text.count + Self.fieldOverhead
            guard listBytes <= maximum else {
                isTooLarge = true
                guard listBytes <= bomb else { throw Fault(flood: .headers) }
                continue
            }
            known.put(
                text.span, nameCount: field.nameCount, field.form,
                encoded: begin..<(field.form == .incremental ? begin : offset),
                table: field.readsTable ? table.version : nil)
        }
        try checkResize()
    }

    /// RFC 7541, 6: decodes the name and the value of a representation into `text`.
    private mutating func representation(
        _ block: Span<UInt8>, _ offset: inout Int, _ text: inout [UInt8]
    ) throws(Fault) -> (nameCount: Int, form: FieldForm, readsTable: Bool) {
        text.removeAll(keepingCapacity: true)
        let byte = block[offset]
        if byte & 0x80 != 0 {
            let (nameCount, readsTable) = try indexed(block, &offset, &text)
            return (nameCount, .indexed, readsTable)
        }
        let isIncremental = byte & 0x40 != 0
        let (nameCount, readsTable) = try literal(block, &offset, isIncremental ? 6 : 4, &text)
        guard isIncremental else {
            return (nameCount, byte & 0x10 != 0 ? .neverIndexed : .withoutIndexing, readsTable)
        }
        table.insert(
            name: text.span.extracting(first: nameCount), value: text.span.extracting(droppingFirst: nameCount))
        return (nameCount, .incremental, readsTable)
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

    /// RFC 7541, 6.1. Appends the name and the value, and returns the length of the name, and whether both are from the
    /// dynamic table.
    private func indexed(
        _ block: Span<UInt8>, _ offset: inout Int, _ text: inout [UInt8]
    ) throws(Fault) -> (nameCount: Int, readsTable: Bool) {
        let index = try PrefixInteger.read(block, at: &offset, prefix: 7)
        try name(index, &text)
        let nameCount = text.count
        if index <= StaticTable.count {
            StaticTable.appendValue(index, to: &text)
        } else if let entry = table[index - StaticTable.count - 1] {
            text.append(copying: table.bytes.span.extracting(entry.value))
        }
        return (nameCount, index > StaticTable.count)
    }

    /// RFC 7541, 6.2. Appends the name and the value, and returns the length of the name, and whether it is from the dynamic
    /// table.
    private func literal(
        _ block: Span<UInt8>, _ offset: inout Int, _ prefix: UInt8, _ text: inout [UInt8]
    ) throws(Fault) -> (nameCount: Int, readsTable: Bool) {
        let index = try PrefixInteger.read(block, at: &offset, prefix: prefix)
        if index == 0 { try string(block, &offset, &text) } else { try name(index, &text) }
        let nameCount = text.count
        try string(block, &offset, &text)
        return (nameCount, index > StaticTable.count)
    }

    /// Appends the name that has an index in one of the tables.
    private func name(_ index: Int, _ text: inout [UInt8]) throws(Fault) {
        guard index > StaticTable.count else {
            guard index > 0 else { throw Self.unknownIndex }
            return StaticTable.appendName(index, to: &text)
        }
        guard let entry = table[index - StaticTable.count - 1] else { throw Self.unknownIndex }
        text.append(copying: table.bytes.span.extracting(entry.name))
    }

    /// RFC 7541, 5.2. Appends the text.
    private func string(_ block: Span<UInt8>, _ offset: inout Int, _ text: inout [UInt8]) throws(Fault) {
        let isHuffman = offset < block.count && block[offset] & 0x80 != 0
        let count = try PrefixInteger.read(block, at: &offset, prefix: 7)
        guard count <= block.count - offset else {
            throw Fault(.compressionError, "RFC 9113, 4.3", "a field block ends within a text")
        }
        let encoded = block.extracting(offset..<offset + count)
        offset += count
        guard isHuffman else { return text.append(copying: encoded) }
        var isValid = true
        text.append(addingCapacity: HuffmanDecoder.maximumCount(of: count)) { output in
            isValid = HuffmanDecoder.decode(encoded, into: &output)
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
