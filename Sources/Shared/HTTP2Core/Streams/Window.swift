/// A flow-control window (RFC 9113, 5.2 and 6.9): how many bytes of DATA may still be sent.
enum Window {
    /// The greatest window (RFC 9113, 6.9.1).
    static let maximum = 0x7fff_ffff
    /// The window of a new connection, which only WINDOW_UPDATE changes (RFC 9113, 6.9.2).
    static let initialOfConnection = 65_535
}

/// The window for what we receive, of the connection or of a stream.
///
/// It is opened again when half of it is used up, so that small increments are rare (RFC 9113, 6.9.1).
struct ReceiveWindow {
    /// How much the peer may still send. Negative if our SETTINGS made the window smaller (RFC 9113, 6.9.2).
    private(set) var available: Int32
    /// How many bytes were consumed since the last WINDOW_UPDATE.
    private(set) var consumed: Int32 = 0

    init(_ bytes: Int) { available = Int32(clamping: bytes) }

    /// Counts a DATA frame with its padding. Returns whether it was within the window.
    mutating func receive(_ count: Int) -> Bool {
        guard count <= Int(available) else { return false }  // fits: 32 bits
        // `count` is at most `available`, so this cannot overflow.
        available -= Int32(count)  // fits: at most what is available
        return true
    }

    /// Counts bytes that we need no longer keep room for, at most as many as were received.
    // fits: 32 bits, and a frame's length
    mutating func consume(_ count: Int) { consumed = Int32(clamping: Int(consumed) + count) }

    /// Returns the increment for a WINDOW_UPDATE, and opens the window; nil if it is not worth a frame yet.
    /// - Parameter size: the whole window, of which half has to be consumed.
    mutating func increment(size: Int) -> Int? {
        guard consumed > 0, Int(consumed) * 2 >= size else { return nil }  // fits: 32 bits
        let increment = min(Int(consumed), Window.maximum - max(0, Int(available)))  // fits: 32 bits each
        guard increment > 0 else { return nil }
        available = Int32(clamping: Int(available) + increment)  // fits: 32 bits each
        consumed = 0
        return increment
    }

    /// Our SETTINGS_INITIAL_WINDOW_SIZE has changed (RFC 9113, 6.9.2).
    // fits: 32 bits each
    mutating func adjust(by difference: Int) { available = Int32(clamping: Int(available) + difference) }
}
