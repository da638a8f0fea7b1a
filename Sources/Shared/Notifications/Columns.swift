// The numbers that stand for values in the columns of all stores.

extension Environment {
    /// 0 for development, 1 for production.
    package var column: Int64 {
        switch self {
        case .development: 0
        case .production: 1
        }
    }

    package init?(column: Int64) {
        switch column {
        case 0: self = .development
        case 1: self = .production
        default: return nil
        }
    }
}

extension Timestamp {
    /// Milliseconds since 1970. A time that is too large for 64 bits with a sign becomes the largest number, so that SQL
    /// compares times in the same order as Swift.
    package var column: Int64 { Int64(clamping: milliseconds) }

    package init(column: Int64) { self.init(milliseconds: column == .max ? .max : UInt64(clamping: column)) }
}

extension DeviceID {
    /// The same 64 bits as a number with a sign: IDs in the upper half become negative numbers, so SQL sorts them first.
    package var column: Int64 { Int64(bitPattern: rawValue) }

    package init(column: Int64) { self.init(rawValue: UInt64(bitPattern: column)) }

    /// The ranges of the column that hold the devices after this one, in the order of the IDs as unsigned numbers.
    /// - Parameter device: nil for all devices.
    package static func columns(after device: DeviceID?) -> [ClosedRange<Int64>] {
        let (lower, upper) = (Int64(0)...Int64.max, Int64.min...Int64(-1))
        guard let device else { return [lower, upper] }
        let range = device.column >= 0 ? lower : upper
        // fits: less than the upper bound
        let rest = device.column < range.upperBound ? [(device.column + 1)...range.upperBound] : []
        return device.column >= 0 ? rest + [upper] : rest
    }
}
