import Notifications

/// A block as it is put together: room for its header, and records one after the other, in one allocation that stays.
///
/// `@unchecked Sendable`: nobody else has its memory, and it cannot be copied.
struct RecordBuffer: ~Copyable, @unchecked Sendable {
    private let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LogBlock.headerBytes + LogBlock.maximumBytes, alignment: 8)
    private var end = LogBlock.headerBytes
    /// From which the times of the block's records are counted.
    private var base = Timestamp(milliseconds: 0)
    /// The last record's.
    private var topic = ""

    deinit { bytes.deallocate() }

    /// In bytes, of the records.
    var count: Int { end - LogBlock.headerBytes }
    var isEmpty: Bool { count == 0 }
    /// Whether a record of any length fits, and one more that tells of losses.
    var hasRoom: Bool { bytes.count - end >= 2 * LogRecord.maximumBytes }

    mutating func removeAll() {
        end = LogBlock.headerBytes
        topic = ""
    }

    /// Begins a record: the first one of a block says from when times are counted.
    mutating func begin(at time: Timestamp) {
        guard isEmpty else { return }
        base = time
        append(integer: time.milliseconds)
    }

    /// Whether the topic is the last record's; it is from now on.
    mutating func repeats(_ topic: String) -> Bool {
        if topic == self.topic { return true }
        self.topic = topic
        return false
    }

    /// The whole block.
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

    // What does not fit is left out: no record is as long as ``hasRoom`` has found room for.

    /// Least significant byte first.
    mutating func append(integer: some FixedWidthInteger & BitwiseCopyable) {
        let size = integer.bitWidth / 8
        guard bytes.count - end >= size else { return }
        bytes.storeBytes(of: integer.littleEndian, toByteOffset: end, as: type(of: integer))
        end += size
    }

    /// Seven bits a byte, the lowest first, and one bit that says whether more follow (LEB128).
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

    /// Since the beginning of the block; an even number forward, an odd one back.
    mutating func append(_ time: Timestamp) {
        let isBack = time < base
        let distance = isBack ? base.milliseconds - time.milliseconds : time.milliseconds - base.milliseconds
        append(short: min(distance, .max >> 1) << 1 | (isBack ? 1 : 0))
    }

    mutating func append(_ id: NotificationID) {
        append(integer: id.high)
        append(integer: id.low)
    }

    /// As many as a byte can count.
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
