/// How many of the bytes received belong to frames that libnghttp2 does not tell of.
///
/// It passes over DATA of streams that are closed, and frames of unknown types, without calling back; what it did tell of
/// and what came differ by just these.
struct IgnoredBytes {
    /// RFC 9113, 4.1. One that has not come whole was not told of.
    private static let frameHeadBytes = 9

    private var received = 0
    private var told = 0
    private var counted = 0

    /// The library told of a frame that begins; its payload may yet come.
    mutating func told(payloadBytes: Int) { told &+= Self.frameHeadBytes &+ payloadBytes }

    /// Bytes have been handed to the library, which has read them all.
    /// - Returns: how many more were ignored, at the least.
    mutating func received(_ count: Int) -> Int {
        received &+= count
        let new = received &- told &- (Self.frameHeadBytes - 1) &- counted
        guard new > 0 else { return 0 }
        counted &+= new
        return new
    }
}
