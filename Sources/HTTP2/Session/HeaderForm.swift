/// How a header field stands in a header block (RFC 7541, 6).
package enum HeaderForm: Sendable, Hashable, CaseIterable {
    /// 6.1: name and value are in a table.
    case indexed
    /// 6.2.1: a literal that enters the dynamic table.
    case incremental
    /// 6.2.2: a literal that does not.
    case withoutIndexing
    /// 6.2.3: a literal that no intermediary may index either.
    case neverIndexed
}
