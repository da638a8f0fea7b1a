/// The number of a stream within its connection (RFC 9113, 5.1.1): odd if the client opens it. No number is used twice.
///
/// Public because `StreamTable` is.
public struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The 31-bit number.
    public let rawValue: UInt32

    @inlinable
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Stands for the whole connection. In GOAWAY it means that no stream was processed.
    public static let connection = StreamID(0)
    /// The greatest number, 2^31-1.
    public static let last = StreamID(0x7fff_ffff)

    var isOfClient: Bool { rawValue & 1 == 1 }

    @inlinable
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
}
