/// The fields of one message, as bytes: what was received, or what is to be sent.
///
/// All names and values are in one array, so a list that is used again allocates nothing.
package struct FieldList: Sendable {
    struct Entry {
        /// The offset of the name. The value follows it.
        var start: Int
        var nameCount: Int
        var valueCount: Int
        var form: FieldForm
        /// The last valid list has the same field in the same place, so its characters were checked.
        var isRepeated: Bool
    }

    /// The names and values.
    package internal(set) var bytes: [UInt8] = []
    var entries: [Entry] = []

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The range of a field's name in `bytes`.
    package func name(_ index: Int) -> Range<Int> {
        let entry = entries[index]
        return entry.start..<entry.start + entry.nameCount
    }

    /// The range of a field's value in `bytes`.
    package func value(_ index: Int) -> Range<Int> {
        let entry = entries[index]
        let start = entry.start + entry.nameCount
        return start..<start + entry.valueCount
    }

    package func form(_ index: Int) -> FieldForm { entries[index].form }

    /// Whether the request before on this connection had the same field in the same place. If not, it may still be the same.
    package func isRepeated(_ index: Int) -> Bool { entries[index].isRepeated }

    /// Calls `body` with each field. The spans are valid during the call.
    package func forEach(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>, _ form: FieldForm) -> Void) {
        for index in entries.indices {
            body(bytes.span.extracting(name(index)), bytes.span.extracting(value(index)), entries[index].form)
        }
    }

    /// Empties the list and keeps its memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// Adds a field. The name has to be in lower case (RFC 9113, 8.2), and pseudo-header fields come first (8.3).
    package mutating func append(_ name: StaticString, _ value: StaticString, _ form: FieldForm = .incremental) {
        let start = bytes.count
        bytes.append(literal: name)
        let end = bytes.count
        bytes.append(literal: value)
        append(start: start, nameEnd: end, form)
    }

    @_disfavoredOverload
    package mutating func append(_ name: StaticString, _ value: String, _ form: FieldForm = .incremental) {
        let start = bytes.count
        bytes.append(literal: name)
        let end = bytes.count
        bytes.append(contentsOf: value.utf8)
        append(start: start, nameEnd: end, form)
    }

    package mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>, _ form: FieldForm = .incremental) {
        let start = bytes.count
        bytes.append(copying: name)
        let end = bytes.count
        bytes.append(copying: value)
        append(start: start, nameEnd: end, form)
    }

    /// Adds the field whose name and value were appended to `bytes`.
    mutating func append(start: Int, nameEnd: Int, _ form: FieldForm, isRepeated: Bool = false) {
        entries.append(
            Entry(
                start: start, nameCount: nameEnd - start, valueCount: bytes.count - nameEnd, form: form,
                isRepeated: isRepeated))
    }
}
