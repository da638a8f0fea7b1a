/// The encoding of a field (RFC 7541, 6).
package enum FieldForm: UInt8, Sendable, Hashable, CaseIterable {
    /// The index of a name and a value in a table (6.1). As a wish for sending it means the same as `incremental`.
    case indexed
    /// A literal that is added to the dynamic table (6.2.1).
    case incremental
    /// A literal that is not added to the table (6.2.2).
    case withoutIndexing
    /// A literal that no intermediary may add to its table either (6.2.3).
    case neverIndexed
}
