/// The encoding of a header field (RFC 7541, 6).
package enum HeaderForm: Sendable, Hashable, CaseIterable {
    /// 6.1: a table has the name and the value.
    case indexed
    /// 6.2.1: a literal that is added to the dynamic table.
    case incremental
    /// 6.2.2: a literal that is not added.
    case withoutIndexing
    /// 6.2.3: a literal that no intermediary may add either.
    case neverIndexed
}
