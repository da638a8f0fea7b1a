import Notifications

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads the log's files, the oldest event first. A service may write to them meanwhile.
package struct DeliveryLogReader {
    private let folder: LogFolder
    private var place: Place?

    /// How far the log was read.
    private struct Place {
        var segment: LogFolder.Segment
        var offset = 0
        /// How many records of the block at the offset were already passed on.
        var skipped = 0
    }

    /// - Parameters:
    ///   - folder: the log's folder. It need not exist.
    ///   - position: the record after which to begin; nil begins with the oldest.
    package init(folder: String, after position: LogPosition? = nil) {
        self.folder = LogFolder(path: folder)
        place = position.map {
            // fits: LogPosition.maximumIndex
            Place(segment: LogFolder.Segment(began: $0.file), offset: $0.block, skipped: $0.index + 1)
        }
    }

    /// Passes on every record that was written since the last call. The first call passes on all records.
    ///
    /// The reader skips an incomplete block at the end of a file, which a crash leaves, and the rest of a damaged file.
    package mutating func read(_ body: (LogRecord) throws -> Void) throws {
        while true {
            let records = try next()
            guard !records.isEmpty else { return }
            for record in records { try body(record.record) }
        }
    }

    /// The records that one read from a file returns; empty if there are no new ones.
    /// - Parameter limit: how many at most. The rest comes with the next call.
    package mutating func next(atMost limit: Int = .max) throws -> [(position: LogPosition, record: LogRecord)] {
        for segment in try folder.segments() where place.map({ segment >= $0.segment }) ?? true {
            if segment != place?.segment { place = Place(segment: segment) }
            let records = try nextInSegment(limit)
            if !records.isEmpty { return records }
        }
        return []
    }

    /// How many bytes are read at a time. Only a burst of events makes a longer block.
    private static let chunk = 256 * 1024

    private mutating func nextInSegment(_ limit: Int) throws -> [(position: LogPosition, record: LogRecord)] {
        guard var place else { return [] }
        let descriptor = open(folder.path(of: place.segment), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            // The service may have removed the file a moment ago.
            if errno == ENOENT { return [] }
            throw DeliveryLogError("read", folder.path(of: place.segment))
        }
        defer { close(descriptor) }
        defer { self.place = place }
        var bytes: [UInt8] = []
        var found: [(position: LogPosition, record: LogRecord)] = []
        var start = 0
        while true {
            switch LogBlock.read(bytes[start...]) {
            case .whole(let block, let count):
                for (index, record) in (LogRecord.read(block) ?? []).enumerated() where index >= place.skipped {
                    guard found.count < limit else {
                        place.skipped = index
                        return found
                    }
                    let position = LogPosition(file: place.segment.began, block: place.offset, index: index)
                    found.append((position, record))
                }
                place.offset += count
                place.skipped = 0
                start += count
            case .partial:
                // fits: the start is in the bytes before the offset
                guard found.isEmpty, try readMore(descriptor, &bytes, from: place.offset - start, of: place.segment)
                else { return found }
            case .damaged:
                return found
            }
        }
    }

    /// - Parameter offset: the offset in the file at which `bytes` begins.
    /// - Returns: Whether the file has more bytes.
    private func readMore(
        _ descriptor: CInt,
        _ bytes: inout [UInt8],
        from offset: Int,
        of segment: LogFolder.Segment,
    ) throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: Self.chunk)
        let count = chunk.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, $0.count, off_t(offset + bytes.count))
        }
        guard count >= 0 else { throw DeliveryLogError("read", folder.path(of: segment)) }
        bytes += chunk.prefix(count)
        return count > 0
    }
}
