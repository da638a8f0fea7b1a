import Notifications

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads the log's files, oldest event first, also while a service writes them.
package struct DeliveryLogReader {
    private let folder: LogFolder
    private var place: Place?

    /// Up to where it has read.
    private struct Place {
        var segment: LogFolder.Segment
        var offset = 0
    }

    /// - Parameter folder: the log's folder, which need not be there yet.
    package init(folder: String) { self.folder = LogFolder(path: folder) }

    /// Passes on everything that was written since the last call, or all that there is.
    ///
    /// What a crash has cut off at the end of a file is skipped, and so is the rest of a file that is damaged.
    package mutating func read(_ body: (LogRecord) throws -> Void) throws {
        for segment in try folder.segments() where place.map({ segment >= $0.segment }) ?? true {
            if segment != place?.segment { place = Place(segment: segment) }
            try readSegment(body)
        }
    }

    private mutating func readSegment(_ body: (LogRecord) throws -> Void) throws {
        guard var place else { return }
        let descriptor = open(folder.path(of: place.segment), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            // The service may have removed it a moment ago.
            if errno == ENOENT { return }
            throw DeliveryLogError("read", folder.path(of: place.segment))
        }
        defer { close(descriptor) }
        defer { self.place = place }
        var bytes: [UInt8] = []
        var start = 0
        var isAtEnd = false
        while true {
            switch LogBlock.read(bytes[start...]) {
            case .whole(let records, let count):
                for record in LogRecord.read(records) ?? [] { try body(record) }
                place.offset += count
                start += count
            case .partial:
                guard !isAtEnd else { return }
                bytes.removeFirst(start)
                start = 0
                isAtEnd = try !readMore(descriptor, &bytes, from: place.offset, of: place.segment)
            case .damaged:
                return
            }
        }
    }

    /// How much is read at a time, in bytes: a whole block in any case.
    private static let chunk = LogBlock.headerBytes + LogBlock.maximumBytes

    /// - Returns: Whether there was more.
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
