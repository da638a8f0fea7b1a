import PrivateFiles
import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Inspects the write-ahead log that a process has left if it did not end cleanly. This happens before SQLite opens
/// the log (https://www.sqlite.org/fileformat2.html, 4).
///
/// SQLite uses the frames before the first wrong checksum, and silently ignores the rest. After a crash, the rest is
/// the transaction that was being written, so ignoring it is right. But if the disk has changed a few bits, they look
/// the same to SQLite, and may be anywhere in the log.
///
/// The two cases can be distinguished. The service writes one transaction after the other, each with an fsync
/// (`synchronous=FULL`), and each frame's checksum continues that of the frame before. So after a crash or a power cut,
/// at most one frame ends a transaction in a chain of frames after the first wrong checksum. If more frames do,
/// transactions that were answered are lost.
///
/// There may be several such chains. If a COMMIT fails, the next transaction is written over its frames. If that one is
/// shorter, the rest of the failed one stays, and its checksums do not continue those before it. A disk that destroys the
/// end of a transaction together with the beginning of the next one, and of no third one, leaves the same, and is not found.
enum WriteAheadLog {
    enum Finding: Sendable, Equatable {
        case intact
        /// The log is damaged, and this many transactions end after the damage.
        case damaged(transactions: Int)
        /// The log's header is wrong, so nothing of the log can be read.
        case unreadable
        /// The log is missing although its index exists. SQLite itself removes the index first.
        case missing
    }

    /// - Parameter path: the path of the database.
    static func inspect(besides path: String) throws(StoreError) -> Finding {
        let log = path + "-wal"
        guard try Files.exists(log) else { return try Files.exists(path + "-shm") ? .missing : .intact }
        let file = try Files.open(log, O_RDONLY)
        let header = try Files.read(file, upTo: WriteAheadLogFrames.headerByteCount, of: log)
        guard var frames = WriteAheadLogFrames(header: header) else {
            // A log without a frame has lost nothing, because its header is written to disk before any frame.
            let rest = try Files.read(file, upTo: WriteAheadLogFrames.smallestFrameByteCount, of: log)
            return rest.count < WriteAheadLogFrames.smallestFrameByteCount ? .intact : .unreadable
        }
        while true {
            let bytes = try Files.read(file, upTo: frames.frameByteCount * framesPerRead, of: log)
            frames.read(bytes)
            if bytes.count < frames.frameByteCount * framesPerRead { break }
        }
        return frames.isDamaged ? .damaged(transactions: frames.lostTransactions) : .intact
    }

    /// These are about a quarter of a MiB.
    private static let framesPerRead = 64
}

/// Reads the frames of a log, and counts the transactions that end after the first wrong frame.
struct WriteAheadLogFrames {
    static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    private static let pages = 512...65_536
    static let smallestFrameByteCount = frameHeaderByteCount + pages.lowerBound

    let frameByteCount: Int
    /// The number of transactions that end after the first wrong frame.
    private(set) var lostTransactions = 0
    /// Whether more than one of them is in the same chain of frames.
    private(set) var isDamaged = false

    private let salt: ArraySlice<UInt8>
    /// The checksum up to the last frame, as computed and as that frame has it.
    private var sum: Checksum
    private var storedSum: Checksum
    private var isSound = true
    /// The number of lost transactions that end in the present chain.
    private var endsInChain = 0

    /// - Returns: nil if the bytes are not the header of a write-ahead log.
    init?(header: [UInt8]) {
        guard header.count == Self.headerByteCount else { return nil }
        let magic = header.bigEndian(at: 0)
        // The lowest bit gives the byte order in which the checksum reads its input.
        guard magic & ~1 == 0x377f_0682, header.bigEndian(at: 4) == 3_007_000,
            let page = Int(exactly: header.bigEndian(at: 8)), Self.pages.contains(page), page & (page - 1) == 0
        else { return nil }
        sum = Checksum(isBigEndian: magic & 1 == 1)
        sum.add(header[0..<24])
        storedSum = sum
        guard sum.first == header.bigEndian(at: 24), sum.second == header.bigEndian(at: 28) else { return nil }
        frameByteCount = Self.frameHeaderByteCount + page
        salt = header[16..<24]
    }

    /// - Parameter bytes: the next frames. If they are not a whole number of frames, the end of the file was reached.
    mutating func read(_ bytes: [UInt8]) {
        var start = 0
        while bytes.count - start >= frameByteCount {
            read(frame: bytes[start..<start + frameByteCount])
            start += frameByteCount
        }
    }

    private mutating func read(frame: ArraySlice<UInt8>) {
        let start = frame.startIndex
        // Frames with another salt are left from an earlier use of the file.
        let isOfThisUse = frame[start + 8..<start + 16].elementsEqual(salt)
        var stored = sum
        (stored.first, stored.second) = (frame.bigEndian(at: start + 16), frame.bigEndian(at: start + 20))
        let continued = sum.adding(frame: frame)
        // If only the checksum of the frame before is damaged, this one continues what it should have been.
        let isLinked = continued == stored || sum != storedSum && storedSum.adding(frame: frame) == stored
        (sum, storedSum) = (isLinked ? stored : continued, stored)
        if !isLinked { endsInChain = 0 }
        isSound = isSound && isLinked && isOfThisUse
        // In the last frame of a transaction, this field is the size of the database. In other frames it is zero.
        guard !isSound, isOfThisUse, frame.bigEndian(at: start + 4) != 0 else { return }
        lostTransactions += 1
        endsInChain += 1
        if endsInChain > 1 { isDamaged = true }
    }

    /// The checksum of https://www.sqlite.org/fileformat2.html, 4.2.
    private struct Checksum: Equatable {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        func adding(frame: ArraySlice<UInt8>) -> Checksum {
            let start = frame.startIndex
            var sum = self
            sum.add(frame[start..<start + 8])
            sum.add(frame[(start + frameHeaderByteCount)...])
            return sum
        }

        /// - Parameter bytes: a multiple of eight.
        mutating func add(_ bytes: ArraySlice<UInt8>) {
            var (first, second) = (first, second)
            bytes.withUnsafeBytes { bytes in
                for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                    let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                    second &+= (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
                }
            }
            (self.first, self.second) = (first, second)
        }
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    fileprivate func bigEndian(at index: Int) -> UInt32 {
        self[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
