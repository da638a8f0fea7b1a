/// The number of a stream (RFC 9113, 5.1.1): odd if the client opens it.
package struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The 31-bit number.
    package let rawValue: UInt32

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Stands for the whole connection. In GOAWAY it means that no stream was processed.
    package static let connection = StreamID(0)
    /// The greatest number, 2^31-1.
    package static let last = StreamID(0x7fff_ffff)

    var isOfClient: Bool { rawValue & 1 == 1 }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    package var description: String { String(rawValue) }
}
