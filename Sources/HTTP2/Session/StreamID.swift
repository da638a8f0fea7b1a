/// The number of one stream within its session (RFC 9113, 5.1.1).
///
/// Streams opened by a client are odd, and a number is never used again on the same session.
package struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The 31-bit number as it stands on the wire.
    package let rawValue: Int32

    /// Names a stream by its number.
    @inlinable
    package init(_ rawValue: Int32) { self.rawValue = rawValue }

    @inlinable
    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    package var description: String { String(rawValue) }

    /// The whole connection, in GOAWAY: "no stream was processed".
    package static let none = StreamID(0)
    /// The greatest number there is, 2^31-1: what a first GOAWAY of a drain carries (RFC 9113, 6.8).
    package static let last = StreamID(Int32.max)
}
