extension Duration {
    /// Reads a duration as ISO 8601 writes it, for example `PT0.5S`, `PT1H30M`, `P2DT6H` or `P1W`. Only seconds may have
    /// a fraction.
    ///
    /// - Returns: nil if it is anything else. Years and months have no fixed length, so they are refused as well.
    package init?(iso8601 text: String) {
        var reader = ISODurationReader(Array(text.utf8))
        guard let duration = reader.read() else { return nil }
        self = duration
    }
}

/// Reads the bytes of an ISO 8601 duration from left to right.
private struct ISODurationReader {
    /// Nine digits of each part: whole parts stay far below what a `Duration` holds, and a fraction is in nanoseconds.
    private static let maximumDigits = 9

    /// The units in the order in which they have to stand, with their seconds.
    private static let dateUnits: [(letter: UInt8, seconds: Int64)] = [
        (UInt8(ascii: "W"), 604_800), (UInt8(ascii: "D"), 86_400),
    ]
    private static let timeUnits: [(letter: UInt8, seconds: Int64)] = [
        (UInt8(ascii: "H"), 3600), (UInt8(ascii: "M"), 60), (UInt8(ascii: "S"), 1),
    ]

    private let bytes: [UInt8]
    private var next = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func read() -> Duration? {
        guard take(UInt8(ascii: "P")), let date = parts(Self.dateUnits) else { return nil }
        guard take(UInt8(ascii: "T")) else { return isAtEnd ? date : nil }
        guard let time = parts(Self.timeUnits), isAtEnd else { return nil }
        // Nothing after the T, or nothing at all, is no duration.
        guard bytes.last != UInt8(ascii: "T") else { return nil }
        return (date ?? .zero) + (time ?? .zero)
    }

    private var isAtEnd: Bool { next == bytes.count }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next < bytes.count, bytes[next] == byte else { return false }
        next += 1
        return true
    }

    /// - Returns: nil if what stands there is wrong; within it, nil if no part is there.
    private mutating func parts(_ units: [(letter: UInt8, seconds: Int64)]) -> Duration?? {
        var sum: Duration?
        var units = units[...]
        while let (whole, fraction) = number() {
            guard next < bytes.count, let index = units.firstIndex(where: { $0.letter == bytes[next] }) else {
                return nil
            }
            let unit = units[index]
            guard fraction == nil || unit.letter == UInt8(ascii: "S") else { return nil }
            next += 1
            sum = (sum ?? .zero) + .seconds(whole * unit.seconds) + .nanoseconds(fraction ?? 0)
            units = units[(index + 1)...]
        }
        return .some(sum)
    }

    /// - Returns: the number that stands there, and nanoseconds if it has a fraction; nil if there is no number.
    private mutating func number() -> (whole: Int64, fraction: Int64?)? {
        let start = next
        guard let whole = digits() else { return nil }
        guard next < bytes.count, bytes[next] == UInt8(ascii: ".") || bytes[next] == UInt8(ascii: ",") else {
            return (whole.value, nil)
        }
        next += 1
        guard let fraction = digits() else {
            next = start
            return nil
        }
        var nanoseconds = fraction.value
        for _ in fraction.count..<Self.maximumDigits { nanoseconds *= 10 }
        return (whole.value, nanoseconds)
    }

    private mutating func digits() -> (value: Int64, count: Int)? {
        let start = next
        var value: Int64 = 0
        while next < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[next]) {
            guard next - start < Self.maximumDigits else { return nil }
            value = value * 10 + Int64(bytes[next] - UInt8(ascii: "0"))
            next += 1
        }
        return next > start ? (value, next - start) : nil
    }
}
