#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The folder of the log's files. The name of a file is the time when the file was begun, in milliseconds since 1970.
struct LogFolder: Sendable {
    /// One file of the log.
    struct Segment: Hashable, Comparable {
        let began: UInt64

        var name: String {
            let digits = String(began)
            return String(repeating: "0", count: max(0, Self.digits - digits.count)) + digits + Self.suffix
        }

        init(began: UInt64) { self.began = began }

        /// - Returns: nil if the name is not that of a log file.
        init?(name: String) {
            guard name.hasSuffix(Self.suffix), name.utf8.count == Self.digits + Self.suffix.utf8.count,
                let began = UInt64(name.dropLast(Self.suffix.count))
            else { return nil }
            self.began = began
        }

        private static let digits = 16
        private static let suffix = ".log"

        static func < (lhs: Segment, rhs: Segment) -> Bool { lhs.began < rhs.began }
    }

    let path: String

    func path(of segment: Segment) -> String { path + "/" + segment.name }

    /// Creates the folder if it is missing. Only its owner can use it.
    func make() throws(DeliveryLogError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw DeliveryLogError("make", path) }
    }

    /// The log's files, oldest first; empty if the folder is missing.
    func segments() throws(DeliveryLogError) -> [Segment] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw DeliveryLogError("read", path)
        }
        defer { closedir(folder) }
        var segments: [Segment] = []
        while let entry = readdir(folder) {
            // Read only the name, not the whole entry: the system allocates an entry only up to the end of its name.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let name = String(
                cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            if let segment = Segment(name: name) { segments.append(segment) }
        }
        return segments.sorted()
    }

    /// The file's size in bytes; 0 if the file is gone.
    func size(of segment: Segment) -> Int {
        var status = stat()
        return stat(path(of: segment), &status) == 0 ? Int(status.st_size) : 0  // fits: off_t
    }

    func remove(_ segment: Segment) { unlink(path(of: segment)) }
}

/// Why the log's files could not be used.
package struct DeliveryLogError: Error, CustomStringConvertible {
    package let description: String

    /// Makes an error from `errno`.
    init(_ action: String, _ path: String) {
        description = "Cannot \(action) \(path): \(String(cString: strerror(errno)))."
    }
}
