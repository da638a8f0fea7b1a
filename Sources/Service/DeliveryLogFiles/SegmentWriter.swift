import Notifications

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Writes blocks to the log's newest file. When the file is full, begins a new one and removes the oldest files.
struct SegmentWriter: ~Copyable {
    private let folder: LogFolder
    private let limits: DeliveryLogLimits
    private var file: OpenFile?
    /// When the last block was written; nil until one was.
    private var lastWritten: Timestamp?

    private struct OpenFile {
        let descriptor: CInt
        let segment: LogFolder.Segment
        /// How many bytes of the file belong to complete blocks.
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
            // Cut off an incomplete block at the end, because the reader would not find the blocks after it.
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
        // Always begin a new file at a start, because a crash may have left an incomplete block at the end of the
        // last one.
        let after = segments.last.map { $0.began + 1 } ?? 0  // fits: a name of 16 digits
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

    /// Removes the files whose events are all too old. If this includes the current file, closes it first.
    mutating func removeOld(now: Timestamp) {
        if let file, isOld(file, now) { end() }
        // If the files cannot be listed, remove none. This is tried again when the next file begins.
        guard let segments = try? folder.segments() else { return }
        if let lastWritten, lastWritten.advanced(by: limits.retention) <= now {
            for segment in segments { folder.remove(segment) }
        } else {
            removeOld(segments, now)
        }
    }

    /// Removes the files whose events are all too old, and more until there is room for a new file.
    private func removeOld(_ segments: [LogFolder.Segment], _ now: Timestamp) {
        var bytes = segments.reduce(0) { $0 + folder.size(of: $1) }
        let oldest = now.advanced(by: .zero - limits.retention).milliseconds
        for (index, segment) in segments.enumerated() {
            // All events of a file are older than the beginning of the next file.
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

// These functions have the same names as the members above.

private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
