import Notifications

/// A block in memory. Its allocation is kept for the next block. It has room for the header, and then the records.
///
/// `@unchecked Sendable` is safe: no other value refers to the memory, and this one cannot be copied.
struct RecordBuffer: ~Copyable, @unchecked Sendable {
    private let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LogBlock.headerBytes + LogBlock.maximumBytes, alignment: 8)
    private var end = LogBlock.headerBytes
    /// The time from which the times in the block are counted.
    private var base = Timestamp(milliseconds: 0)
    /// The topic of the last record. A record with the same topic does not repeat it.
    private var topic = ""

    deinit { bytes.deallocate() }

    /// The size of the records, in bytes.
    var count: Int { end - LogBlock.headerBytes }
    var isEmpty: Bool { count == 0 }
    /// Whether there is room for a record of any length, and after it for a record of lost events.
    var hasRoom: Bool { bytes.count - end >= 2 * LogRecord.maximumBytes }

    mutating func removeAll() {
        end = LogBlock.headerBytes
        topic = ""
    }

    /// Begins a record. Times in the block are counted from that of the first record.
    mutating func begin(at time: Timestamp) {
        guard isEmpty else { return }
        base = time
        append(integer: time.milliseconds)
    }

    /// Whether the last record had the same topic. Remembers the topic for the next call.
    mutating func repeats(_ topic: String) -> Bool {
        if topic == self.topic { return true }
        self.topic = topic
        return false
    }

    /// Calls `body` with the whole block.
    mutating func withBlock<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result,
    ) throws(Failure) -> Result {
        let records = UnsafeRawBufferPointer(rebasing: bytes[LogBlock.headerBytes..<end])
        let (all, checksum) = (end, LogBlock.checksum(records))
        end = 0
        append(integer: LogBlock.mark)
        append(integer: UInt32(records.count))  // fits: a buffer of some KB
        append(integer: checksum)
        end = all
        return try body(UnsafeRawBufferPointer(rebasing: bytes[..<all]))
    }

    // If a value does not fit, these functions leave bytes out. That does not happen if ``hasRoom`` was checked
    // before the record.

    /// Appends an integer of fixed size, the least significant byte first.
    mutating func append(integer: some FixedWidthInteger & BitwiseCopyable) {
        let size = integer.bitWidth / 8
        guard bytes.count - end >= size else { return }
        bytes.storeBytes(of: integer.littleEndian, toByteOffset: end, as: type(of: integer))
        end += size
    }

    /// Appends an integer in LEB128: seven bits in each byte, the lowest first. The eighth bit says whether more
    /// bytes follow.
    mutating func append(short number: UInt64) {
        guard bytes.count - end >= 10 else { return }
        var rest = number
        while rest >= 0x80 {
            bytes[end] = UInt8(truncatingIfNeeded: rest) | 0x80
            end += 1
            rest >>= 7
        }
        bytes[end] = UInt8(truncatingIfNeeded: rest)
        end += 1
    }

    /// Appends a time as its difference from the block's first time: twice the difference, and plus one if the time
    /// is earlier.
    mutating func append(_ time: Timestamp) {
        let isBack = time < base
        // fits: the later time comes first
        let distance = isBack ? base.milliseconds - time.milliseconds : time.milliseconds - base.milliseconds
        append(short: min(distance, .max >> 1) << 1 | (isBack ? 1 : 0))
    }

    mutating func append(_ id: NotificationID) {
        append(integer: id.high)
        append(integer: id.low)
    }

    /// Appends a text: one byte with its length, and then at most 255 bytes.
    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(counted: UnsafeRawBufferPointer($0)) }
    }

    mutating func append(counted token: [UInt8]) {
        token.withUnsafeBytes { append(counted: $0) }
    }

    private mutating func append(counted part: UnsafeRawBufferPointer) {
        let kept = UnsafeRawBufferPointer(rebasing: part.prefix(255))
        guard bytes.count - end > kept.count else { return }
        bytes[end] = UInt8(kept.count)  // fits: at most 255
        UnsafeMutableRawBufferPointer(rebasing: bytes[(end + 1)...]).copyMemory(from: kept)
        end += 1 + kept.count
    }
}
