/// The head of a frame (RFC 9113, 4.1).
struct FrameHead {
    static let byteCount = 9

    /// The length of the payload, 24 bits.
    var length: Int
    var type: UInt8
    var flags: UInt8
    /// The stream's number, 31 bits. The reserved bit is ignored when receiving.
    var stream: StreamID

    /// Reads a head. The caller has checked that its nine bytes are there.
    init(_ bytes: Span<UInt8>) {
        length = Int(bytes.uint32(at: 0) >> 8)  // fits: 24 bits
        type = bytes[3]
        flags = bytes[4]
        stream = StreamID(bytes.uint32(at: 5) & StreamID.last.rawValue)
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

/// The types of frames (RFC 9113, 6).
enum FrameType {
    static let data: UInt8 = 0x0
    static let headers: UInt8 = 0x1
    static let priority: UInt8 = 0x2
    static let rstStream: UInt8 = 0x3
    static let settings: UInt8 = 0x4
    static let pushPromise: UInt8 = 0x5
    static let ping: UInt8 = 0x6
    static let goAway: UInt8 = 0x7
    static let windowUpdate: UInt8 = 0x8
    static let continuation: UInt8 = 0x9
}

/// The flags of frames (RFC 9113, 6). Flags that a type does not define are ignored (4.1).
enum FrameFlag {
    static let endStream: UInt8 = 0x1
    static let acknowledge: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}
