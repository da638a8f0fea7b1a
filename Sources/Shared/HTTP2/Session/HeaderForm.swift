/// The encoding of a header field (RFC 7541, 6).
package enum HeaderForm: Sendable, Hashable, CaseIterable {
    /// The index of a name and a value in a table (6.1).
    case indexed
    /// A literal that is added to the dynamic table (6.2.1).
    case incremental
    /// A literal that is not added to the table (6.2.2).
    case withoutIndexing
    /// A literal that no intermediary may add to its table either (6.2.3).
    case neverIndexed
}
