import Notifications

/// The known items of a frame (Guide, Tables ). Items come in any order, and items with other numbers are
/// ignored.
struct BinaryItems {
    /// The size of the number and the length before an item's data, in bytes.
    static let headerBytes = 3

    private(set) var deviceToken: Range<Int>?
    private(set) var payload: Range<Int>?
    private(set) var identifier: UInt32?
    private(set) var expiration: UInt32?
    private(set) var priority: UInt8?
    /// Whether an item is longer than the rest of the frame, occurs twice, or has a wrong length.
    private(set) var isMalformed = false

    private enum Number {
        static let deviceToken: UInt8 = 1
        static let payload: UInt8 = 2
        static let identifier: UInt8 = 3
        static let expiration: UInt8 = 4
        static let priority: UInt8 = 5
    }

    /// Reads the whole frame, even after a wrong item, because the error packet needs the identifier.
    init(_ frame: Span<UInt8>) {
        var position = 0
        while position < frame.count {
            guard frame.count - position >= Self.headerBytes else {
                isMalformed = true
                return
            }
            let data = position + Self.headerBytes
            let end = data + Int(frame.bigEndian16(at: position + 1))
            guard end <= frame.count else {
                isMalformed = true
                return
            }
            readItem(frame[position], data..<end, of: frame)
            position = end
        }
    }

    private mutating func readItem(_ number: UInt8, _ data: Range<Int>, of frame: Span<UInt8>) {
        let isGood =
            switch number {
            case Number.deviceToken: Self.keep(data, in: &deviceToken)
            case Number.payload: Self.keep(data, in: &payload)
            case Number.identifier:
                Self.keep(data.count == 4 ? frame.bigEndian32(at: data.lowerBound) : nil, in: &identifier)
            case Number.expiration:
                Self.keep(data.count == 4 ? frame.bigEndian32(at: data.lowerBound) : nil, in: &expiration)
            case Number.priority:
                Self.keep(data.count == 1 ? frame[data.lowerBound] : nil, in: &priority)
            default: true
            }
        isMalformed = isMalformed || !isGood
    }

    /// - Returns: Whether the value is valid and the first one for its place.
    private static func keep<Value>(_ value: Value?, in place: inout Value?) -> Bool {
        guard let value, place == nil else { return false }
        place = value
        return true
    }
}
