/// The number of one stream within its session (RFC 9113, 5.1.1).
///
/// Streams opened by a client are odd, and a number is never used again on the same session. Public because
/// `StreamTable` is.
public struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The 31-bit number as it stands on the wire.
    public let rawValue: Int32

    /// Names a stream by its number.
    @inlinable
    public init(_ rawValue: Int32) { self.rawValue = rawValue }

    @inlinable
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }

    /// The whole connection, in GOAWAY: "no stream was processed".
    public static let none = StreamID(0)
    /// The greatest number there is, 2^31-1: what a first GOAWAY of a drain carries (RFC 9113, 6.8).
    public static let last = StreamID(Int32.max)
}
