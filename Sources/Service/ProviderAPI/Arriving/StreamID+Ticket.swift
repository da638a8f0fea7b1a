import HTTP2

// A connection's tickets for what it hands over are the numbers of its streams.
extension StreamID {
    var ticket: UInt64 { UInt64(rawValue) }  // fits: 32 bits

    init(ticket: UInt64) { self.init(UInt32(truncatingIfNeeded: ticket)) }
}
