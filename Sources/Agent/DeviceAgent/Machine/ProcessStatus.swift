import PrivateFiles

/// What the kernel says of a process (proc_pid_stat(5)).
struct ProcessStatus: Sendable, Hashable {
    /// The parent's number; 0 if it is outside of this PID namespace.
    let parent: Int32
    /// The number of the session, which is that of the process that made it.
    let session: Int32
    /// When the process started, in clock ticks since the machine's start. A number that is used again has another start.
    let start: UInt64
    /// Whether the process has ended, and its parent was not told yet.
    let isEnded: Bool

    /// The fields have about 300 bytes; the name in them has 64 at most.
    private static let maximumBytes = 4096

    /// - Returns: nil if there is no such process, or this one may not see it.
    init?(of process: Int32) {
        guard let bytes = Self.contents(of: "/proc/\(process)/stat", upTo: Self.maximumBytes) else { return nil }
        self.init(line: bytes)
    }

    /// The contents of a file of the kernel, as far as `count` bytes; nil if it is not there, or this process may not see it.
    static func contents(of path: String, upTo count: Int) -> [UInt8]? {
        guard let file = try? Files.open(path, O_RDONLY) else { return nil }
        return try? Files.read(file, upTo: count, of: path)
    }

    /// - Parameter line: the file's contents. The second field is the program's name, which may have spaces and parentheses.
    init?(line: [UInt8]) {
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = String(decoding: line[line.index(after: end)...], as: UTF8.self).split(separator: " ")
        // The first of these is the third field, the state. The 22nd field is the start.
        guard fields.count >= 20, let parent = Int32(fields[1]), let session = Int32(fields[3]),
            let start = UInt64(fields[19])
        else { return nil }
        (self.parent, self.session, self.start) = (parent, session, start)
        isEnded = fields[0] == "Z" || fields[0] == "X"
    }
}

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
