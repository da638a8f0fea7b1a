import Notifications

// How values of the vocabulary stand in SQLite's signed 64-bit integers.

extension Environment {
    /// 0 is development, 1 is production.
    var column: Int64 {
        switch self {
        case .development: 0
        case .production: 1
        }
    }

    init?(column: Int64) {
        switch column {
        case 0: self = .development
        case 1: self = .production
        default: return nil
        }
    }
}

extension Timestamp {
    /// Milliseconds since 1970. A moment that SQLite's integers cannot hold counts as the last moment there is, so
    /// that moments compare in SQL as they do here.
    var column: Int64 { Int64(clamping: milliseconds) }

    init(column: Int64) {
        self.init(milliseconds: column == .max ? .max : UInt64(clamping: column))
    }
}

extension DeviceID {
    /// The same 64 bits. The order of devices means nothing.
    var column: Int64 { Int64(bitPattern: rawValue) }

    init(column: Int64) { self.init(rawValue: UInt64(bitPattern: column)) }
}
