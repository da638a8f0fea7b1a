import Notifications

/// A block in one allocation that is kept: room for the header, then the records.
///
/// `@unchecked Sendable`: only this value has the memory, and it cannot be copied.
struct RecordBuffer: ~Copyable, @unchecked Sendable {
    private let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LogBlock.headerBytes + LogBlock.maximumBytes, alignment: 8)
    private var end = LogBlock.headerBytes
    /// Times in the block are counted from this one.
    private var base = Timestamp(milliseconds: 0)
    /// The topic of the last record.
    private var topic = ""

    deinit { bytes.deallocate() }

    /// The size of the records, in bytes.
    var count: Int { end - LogBlock.headerBytes }
    var isEmpty: Bool { count == 0 }
    /// Whether another record of any length fits, and after it a record of lost events.
    var hasRoom: Bool { bytes.count - end >= 2 * LogRecord.maximumBytes }

    mutating func removeAll() {
        end = LogBlock.headerBytes
        topic = ""
    }

    /// Begins a record. The times of a block are counted from the time of its first record.
    mutating func begin(at time: Timestamp) {
        guard isEmpty else { return }
        base = time
        append(integer: time.milliseconds)
    }

    /// Whether the last record had the same topic; remembers the topic.
    mutating func repeats(_ topic: String) -> Bool {
        if topic == self.topic { return true }
        self.topic = topic
        return false
    }

    /// Passes on the whole block.
    mutating func withBlock<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result,
    ) throws(Failure) -> Result {
        let records = UnsafeRawBufferPointer(rebasing: bytes[LogBlock.headerBytes..<end])
        let (all, checksum) = (end, LogBlock.checksum(records))
        end = 0
        append(integer: LogBlock.mark)
        append(integer: UInt32(records.count))
        append(integer: checksum)
        end = all
        return try body(UnsafeRawBufferPointer(rebasing: bytes[..<all]))
    }

    // These functions leave out bytes that do not fit. With ``hasRoom`` no record is that long.

    /// Least significant byte first.
    mutating func append(integer: some FixedWidthInteger & BitwiseCopyable) {
        let size = integer.bitWidth / 8
        guard bytes.count - end >= size else { return }
        bytes.storeBytes(of: integer.littleEndian, toByteOffset: end, as: type(of: integer))
        end += size
    }

    /// LEB128: seven bits in each byte, the lowest first, and one bit that says whether more bytes follow.
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

    /// Twice the difference from the block's first time, and one more if the time is before it.
    mutating func append(_ time: Timestamp) {
        let isBack = time < base
        let distance = isBack ? base.milliseconds - time.milliseconds : time.milliseconds - base.milliseconds
        append(short: min(distance, .max >> 1) << 1 | (isBack ? 1 : 0))
    }

    mutating func append(_ id: NotificationID) {
        append(integer: id.high)
        append(integer: id.low)
    }

    /// A text of at most 255 bytes, after one byte with its length.
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
        bytes[end] = UInt8(kept.count)
        UnsafeMutableRawBufferPointer(rebasing: bytes[(end + 1)...]).copyMemory(from: kept)
        end += 1 + kept.count
    }
}
