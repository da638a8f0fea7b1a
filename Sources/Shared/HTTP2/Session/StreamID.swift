/// The number of a stream within its session (RFC 9113, 5.1.1).
///
/// Streams that a client opens have odd numbers, and no number is used twice in a session. Public because `StreamTable`
/// is public.
public struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The 31-bit number in the frame.
    public let rawValue: Int32

    /// Makes a stream's number.
    @inlinable
    public init(_ rawValue: Int32) { self.rawValue = rawValue }

    @inlinable
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }

    /// Stands for the whole connection. In GOAWAY it means that no stream was processed.
    public static let none = StreamID(0)
    /// The greatest number, 2^31-1. The first GOAWAY of a drain has it (RFC 9113, 6.8).
    public static let last = StreamID(Int32.max)
}
