/// Encodes field blocks (RFC 7541, 3.1 and 6).
struct FieldEncoder {
    private var table = DynamicTable(maximumSize: 4_096)
    /// The largest table that we use, even if the peer allows more, in bytes.
    private let ownLimit: Int
    /// The smallest size that was set since the last block; nil if the size did not change (RFC 7541, 4.2).
    private var smallest: Int?

    /// From this length on, a text is sent in Huffman code if that is shorter. Below it, the code saves a quarter of a few
    /// bytes: the `apns-id` in each answer would take 2,000 instructions.
    private let shortestHuffman: Int

    init(maximumTableBytes: Int, shortestHuffman: Int = 64) {
        self.shortestHuffman = shortestHuffman
        ownLimit = maximumTableBytes
        setPeerLimit(4_096)
    }

    /// The number of bytes in the dynamic table, as RFC 7541 counts them (4.1).
    var tableBytes: Int { table.size }
    /// The bytes that the table has allocated for names and values.
    var tableCapacity: Int { table.bytes.capacity }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE has come. The next block begins with the change, and also with the
    /// smallest size in between (RFC 7541, 4.2).
    mutating func setPeerLimit(_ bytes: Int) {
        let size = min(bytes, ownLimit)
        guard size != table.maximumSize else { return }
        smallest = min(size, smallest ?? size)
        table.resize(to: size)
    }

    mutating func releaseIdleMemory() { table.releaseIdleMemory() }

    /// Appends the encoded fields.
    mutating func encode(_ list: FieldList, to output: inout [UInt8]) {
        if let smallest {
            if smallest < table.maximumSize {
                PrefixInteger.write(smallest, prefix: 5, pattern: 0x20, to: &output)
            }
            PrefixInteger.write(table.maximumSize, prefix: 5, pattern: 0x20, to: &output)
            self.smallest = nil
        }
        let bytes = list.bytes.span
        for index in list.entries.indices {
            encode(
                bytes.extracting(list.name(index)), bytes.extracting(list.value(index)), list.entries[index].form,
                to: &output)
        }
    }

    private mutating func encode(
        _ name: Span<UInt8>, _ value: Span<UInt8>, _ form: FieldForm, to output: inout [UInt8]
    ) {
        let fixed = StaticTable.find(name, value)
        switch form {
        case .indexed, .incremental:
            // 6.1, if a table has the whole field.
            if let fixed, fixed.hasValue {
                return PrefixInteger.write(fixed.index, prefix: 7, pattern: 0x80, to: &output)
            }
            let dynamic = table.find(name, value)
            if let dynamic, dynamic.hasValue {
                let index = dynamic.index + StaticTable.count + 1
                return PrefixInteger.write(index, prefix: 7, pattern: 0x80, to: &output)
            }
            // 6.2.1. A field that is larger than the table would only empty it (4.4), so it is not indexed.
            let fits = name.count + value.count + DynamicTable.entryOverhead <= table.maximumSize
            let index = fixed?.index ?? dynamic.map { $0.index + StaticTable.count + 1 } ?? 0
            literal(index, name, value, prefix: fits ? 6 : 4, pattern: fits ? 0x40 : 0x00, to: &output)
            if fits { table.insert(name: name, value: value) }
        case .withoutIndexing, .neverIndexed:
            // 6.2.2 and 6.2.3. A field with another form may have added the name to the table.
            let index = fixed?.index ?? table.find(name).map { $0 + StaticTable.count + 1 } ?? 0
            literal(index, name, value, prefix: 4, pattern: form == .neverIndexed ? 0x10 : 0x00, to: &output)
        }
    }

    /// RFC 7541, 6.2: a literal, with the index of its name or with the name.
    private func literal(
        _ index: Int, _ name: Span<UInt8>, _ value: Span<UInt8>, prefix: UInt8, pattern: UInt8,
        to output: inout [UInt8]
    ) {
        PrefixInteger.write(index, prefix: prefix, pattern: pattern, to: &output)
        if index == 0 { string(name, to: &output) }
        string(value, to: &output)
    }

    /// RFC 7541, 5.2: Huffman code if it is shorter, which is the sender's choice.
    private func string(_ text: Span<UInt8>, to output: inout [UInt8]) {
        let count = text.count < shortestHuffman ? text.count : HuffmanEncoder.count(text)
        if count < text.count {
            PrefixInteger.write(count, prefix: 7, pattern: 0x80, to: &output)
            HuffmanEncoder.encode(text, to: &output)
        } else {
            PrefixInteger.write(text.count, prefix: 7, pattern: 0x00, to: &output)
            output.append(copying: text)
        }
    }
}
