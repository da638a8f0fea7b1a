/// The static table (RFC 7541, appendix A).
enum StaticTable {
    /// The number of entries. Indices begin with 1.
    static let count = 61

    private static let rows: [(StaticString, StaticString)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
        ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
        ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
        ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
        ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
        ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
        ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
        ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    /// The entries. The field with index 1 has the position 0.
    static let fields: FieldList = {
        var list = FieldList()
        for (name, value) in rows { list.append(name, value, .indexed) }
        return list
    }()

    /// The positions of the entries with new names, by the count of the name's bytes.
    private static let positionsByCount: [[Int]] = {
        var positions: [[Int]] = []
        var previous: Range<Int>?
        for position in 0..<count {
            let name = fields.name(position)
            defer { previous = name }
            if let previous, fields.bytes[previous] == fields.bytes[name] { continue }
            while positions.count <= name.count { positions.append([]) }
            positions[name.count].append(position)
        }
        return positions
    }()

    /// Appends the name of an entry, 1 to `count`, to bytes.
    static func appendName(_ index: Int, to bytes: inout [UInt8]) {
        let fields = fields
        bytes.append(copying: fields.bytes.span.extracting(fields.name(index - 1)))
    }

    /// Appends the value of an entry, 1 to `count`, to bytes.
    static func appendValue(_ index: Int, to bytes: inout [UInt8]) {
        let fields = fields
        bytes.append(copying: fields.bytes.span.extracting(fields.value(index - 1)))
    }

    /// Finds a field: the index of an entry with the name, and whether it has the value as well.
    static func find(_ name: Span<UInt8>, _ value: Span<UInt8>) -> (index: Int, hasValue: Bool)? {
        guard name.count < positionsByCount.count, let last = name.indices.last else { return nil }
        let fields = fields
        let bytes = fields.bytes.span
        for position in positionsByCount[name.count] {
            let range = fields.name(position)
            guard bytes[range.upperBound - 1] == name[last], bytes.extracting(range).isEqual(to: name) else { continue }
            var next = position
            // Entries with the same name follow each other.
            while next < count, next == position || bytes.extracting(fields.name(next)).isEqual(to: name) {
                if bytes.extracting(fields.value(next)).isEqual(to: value) { return (next + 1, true) }
                next += 1
            }
            return (position + 1, false)
        }
        return nil
    }
}
