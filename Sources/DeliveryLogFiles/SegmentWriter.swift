import Notifications

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Writes blocks to the newest file of the log, begins another one where that is full, and removes the oldest.
struct SegmentWriter: ~Copyable {
    private let folder: LogFolder
    private let limits: DeliveryLogLimits
    private var file: OpenFile?
    /// When the last block was written; nil until one was.
    private var lastWritten: Timestamp?

    private struct OpenFile {
        let descriptor: CInt
        let segment: LogFolder.Segment
        /// Up to where it holds whole blocks.
        var bytes = 0
    }

    init(_ folder: LogFolder, _ limits: DeliveryLogLimits) {
        self.folder = folder
        self.limits = limits
    }

    deinit {
        if let file { close(file.descriptor) }
    }

    /// Appends a block.
    mutating func write(_ block: UnsafeRawBufferPointer, now: Timestamp) throws(DeliveryLogError) {
        if let file, file.bytes >= limits.segmentBytes || isOld(file, now) { end() }
        let open: OpenFile
        if let file { open = file } else { open = try begin(now) }
        do throws(DeliveryLogError) {
            try write(block, to: open)
        } catch {
            // Half a block at the end would hide what comes after it.
            if ftruncate(open.descriptor, off_t(open.bytes)) != 0 { end() }
            throw error
        }
        file?.bytes += block.count
        lastWritten = now
    }

    private func isOld(_ file: OpenFile, _ now: Timestamp) -> Bool {
        Timestamp(milliseconds: file.segment.began).advanced(by: limits.segmentSpan) <= now
    }

    private mutating func begin(_ now: Timestamp) throws(DeliveryLogError) -> OpenFile {
        let segments = try folder.segments()
        removeOld(segments, now)
        // A crash may have left half a block at the end of the last one, so each start begins its own.
        let after = segments.last.map { $0.began + 1 } ?? 0
        let segment = LogFolder.Segment(began: max(now.milliseconds, after))
        let path = folder.path(of: segment)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DeliveryLogError("write", path) }
        let new = OpenFile(descriptor: descriptor, segment: segment)
        file = new
        return new
    }

    private mutating func end() {
        if let file { close(file.descriptor) }
        file = nil
    }

    /// Removes the files that hold nothing young enough. The file being written ends if it is one of them.
    mutating func removeOld(now: Timestamp) {
        if let file, isOld(file, now) { end() }
        // Without the list nothing is removed; the next file that begins tries again.
        guard let segments = try? folder.segments() else { return }
        if let lastWritten, lastWritten.advanced(by: limits.retention) <= now {
            for segment in segments { folder.remove(segment) }
        } else {
            removeOld(segments, now)
        }
    }

    /// Removes files until there is room for one more, and those that hold nothing young enough.
    private func removeOld(_ segments: [LogFolder.Segment], _ now: Timestamp) {
        var bytes = segments.reduce(0) { $0 + folder.size(of: $1) }
        let oldest = now.advanced(by: .zero - limits.retention).milliseconds
        for (index, segment) in segments.enumerated() {
            // Its newest event is older than the beginning of the next one.
            let isOver = index + 1 < segments.count && segments[index + 1].began <= oldest
            guard isOver || bytes > limits.totalBytes - limits.segmentBytes else { return }
            bytes -= folder.size(of: segment)
            folder.remove(segment)
        }
    }

    private func write(_ block: UnsafeRawBufferPointer, to file: OpenFile) throws(DeliveryLogError) {
        var left = block
        while !left.isEmpty {
            let count = systemWrite(file.descriptor, left.baseAddress, left.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DeliveryLogError("write", folder.path(of: file.segment)) }
            left = UnsafeRawBufferPointer(rebasing: left[count...])
        }
    }
}

// The members above have the names of these.

private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
