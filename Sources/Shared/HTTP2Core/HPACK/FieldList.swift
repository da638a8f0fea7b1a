/// The fields of one message, as bytes: what was received, or what is to be sent.
///
/// All names and values are in one array, so a list that is used again allocates nothing.
package struct FieldList: Sendable {
    struct Entry {
        /// The offset of the name. The value follows it. Every limit of a list is below 4 GiB.
        private var first: UInt32
        private var nameBytes: UInt32
        private var valueBytes: UInt32
        let form: FieldForm
        /// What the rules for messages say of fields with this name.
        let rule: FieldRule
        /// The last valid list has the same field in the same place, so its characters were checked.
        var isRepeated = false

        init(_ text: Span<UInt8>, start: Int, nameCount: Int, _ form: FieldForm) {
            first = UInt32(clamping: start)
            nameBytes = UInt32(clamping: nameCount)
            valueBytes = UInt32(clamping: text.count - nameCount)
            rule = FieldRule(name: text.extracting(first: nameCount))
            self.form = form
        }

        private var start: Int { Int(clamping: first) }
        private var nameCount: Int { Int(clamping: nameBytes) }

        var textCount: Int { nameCount + Int(clamping: valueBytes) }
        var name: Range<Int> { start..<start + nameCount }
        var value: Range<Int> { start + nameCount..<start + textCount }

        mutating func move(by distance: Int) { first = UInt32(clamping: start + distance) }
    }

    /// The names and values.
    package internal(set) var bytes: [UInt8] = []
    var entries: [Entry] = []

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The range of a field's name in `bytes`.
    package func name(_ index: Int) -> Range<Int> { entries[index].name }

    /// The range of a field's value in `bytes`.
    package func value(_ index: Int) -> Range<Int> { entries[index].value }

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

    /// Adds a field: to the dynamic table (`incremental`), for values that repeat, or not, for secrets and for values that do
    /// not repeat and would push others out. The name has to be in lower case (RFC 9113, 8.2), and pseudo-header fields come first (8.3).
    package mutating func append(_ name: StaticString, _ value: StaticString, _ form: FieldForm = .incremental) {
        append(form) {
            $0.append(literal: name)
        } value: {
            $0.append(literal: value)
        }
    }

    /// Adds a field whose value is a literal followed by other text.
    package mutating func append(
        _ name: StaticString, beginning: StaticString, _ rest: String, _ form: FieldForm = .incremental
    ) {
        append(form) {
            $0.append(literal: name)
        } value: {
            $0.append(literal: beginning)
            $0.append(contentsOf: rest.utf8)
        }
    }

    @_disfavoredOverload
    package mutating func append(_ name: StaticString, _ value: String, _ form: FieldForm = .incremental) {
        append(form) {
            $0.append(literal: name)
        } value: {
            $0.append(contentsOf: value.utf8)
        }
    }

    package mutating func append(name: String, value: String, _ form: FieldForm = .incremental) {
        append(form) {
            $0.append(contentsOf: name.utf8)
        } value: {
            $0.append(contentsOf: value.utf8)
        }
    }

    package mutating func append(_ name: StaticString, _ value: Span<UInt8>, _ form: FieldForm = .incremental) {
        append(form) {
            $0.append(literal: name)
        } value: {
            $0.append(copying: value)
        }
    }

    package mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>, _ form: FieldForm = .incremental) {
        append(form) {
            $0.append(copying: name)
        } value: {
            $0.append(copying: value)
        }
    }

    /// Adds the field whose name and value the closures append to `bytes`.
    @inline(__always)
    private mutating func append(
        _ form: FieldForm, name: (inout [UInt8]) -> Void, value: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        name(&bytes)
        let nameCount = bytes.count - start
        value(&bytes)
        let entry = Entry(bytes.span.extracting(droppingFirst: start), start: start, nameCount: nameCount, form)
        entries.append(entry)
    }

    /// Sets the field of a place, up to the number of fields. Those behind it stay.
    mutating func put(_ text: Span<UInt8>, nameCount: Int, _ form: FieldForm, at place: Int) {
        guard place < entries.count else {
            entries.append(Entry(text, start: bytes.count, nameCount: nameCount, form))
            return bytes.append(copying: text)
        }
        let old = entries[place]
        let start = old.name.lowerBound
        bytes.replace(start..<start + old.textCount, copying: text)
        entries[place] = Entry(text, start: start, nameCount: nameCount, form)
        let distance = text.count - old.textCount
        guard distance != 0 else { return }
        for index in entries.indices.dropFirst(place + 1) { entries[index].move(by: distance) }
    }

    /// Drops all fields but so many.
    mutating func keepFirst(_ count: Int) {
        guard count < entries.count else { return }
        bytes.removeSubrange(entries[count].name.lowerBound...)
        entries.removeSubrange(count...)
    }
}
