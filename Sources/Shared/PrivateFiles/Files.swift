package import Storage

#if canImport(Darwin)
    package import Darwin
#elseif canImport(Musl)
    package import Musl
#else
    package import Glibc
#endif

/// An open file or folder. Releasing the last reference closes it.
package final class Descriptor: Sendable {
    package let number: CInt
    init(_ number: CInt) { self.number = number }
    deinit { close(number) }
}

/// Identifies a file, whatever its name is.
package struct FileIdentity: Sendable, Hashable {
    private let device: dev_t
    private let number: ino_t

    private init(_ status: stat) {
        device = status.st_dev
        number = status.st_ino
    }

    package init(of path: String) throws(StoreError) {
        var status = stat()
        guard systemStatus(path, &status) == 0 else { throw Files.error("look at", path) }
        self.init(status)
    }

    /// The identity of an open file; nil if the number is not that of an open file.
    package init?(ofOpen number: CInt) {
        var status = stat()
        guard fstat(number, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The numbers of the device and of the inode, as systemd writes them.
    package var text: String { "\(device):\(number)" }

    /// Whether the file is no longer at this path: the path has no file, or another one. False if the path cannot be
    /// read.
    package func isGone(from path: String) -> Bool {
        var status = stat()
        guard systemStatus(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR }
        return FileIdentity(status) != self
    }
}

/// The system's calls for files, with errors that say what to do.
package enum Files {
    /// Only the owner may read and write.
    package static let privateFile: mode_t = 0o600
    /// Everybody may read.
    package static let publicFile: mode_t = 0o644
    package static let privateFolder: mode_t = 0o700

    /// Makes a file completely or not at all. So nobody can read half of it, or read it before it has its
    /// permissions.
    ///
    /// The file is written under a temporary name and then renamed.
    /// - Parameter replacing: whether it may replace a file with this name.
    /// - Returns: false if there is already a file that must not be replaced.
    package static func make(
        _ path: String,
        _ bytes: [UInt8],
        mode: mode_t = privateFile,
        replacing: Bool,
    ) throws(StoreError) -> Bool {
        let (folder, name) = split(path)
        let draft = folder + "/." + name + "." + String(UInt64.random(in: .min ... .max), radix: 16)
        let isMade: Bool
        do throws(StoreError) {
            let file = try open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
            if mode != privateFile { guard fchmod(file.number, mode) == 0 else { throw error("protect", path) } }
            try write(bytes, to: file, of: draft)
            try sync(file, draft)
            if replacing {
                try rename(draft, to: path)
                isMade = true
            } else {
                isMade = try link(draft, to: path)
                try remove(draft)
            }
        } catch {
            // Ignore this error: the reason why the file could not be made is more important.
            try? remove(draft)
            throw error
        }
        try sync(try open(folder, O_RDONLY | O_DIRECTORY), folder)
        return isMade
    }

    /// Splits a path into the folder and the name in it.
    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.index(after: slash)...]))
    }

    package static func open(_ path: String, _ flags: CInt) throws(StoreError) -> Descriptor {
        let number = retrying { systemOpen(path, flags | O_CLOEXEC, privateFile) }
        guard number >= 0 else { throw error("open", path) }
        return Descriptor(number)
    }

    package static func exists(_ path: String) throws(StoreError) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return true }
        guard errno == ENOENT else { throw error("look at", path) }
        return false
    }

    /// The size of a file; nil if it cannot be read.
    package static func byteCount(of path: String) -> Int? {
        var status = stat()
        return systemStatus(path, &status) == 0 ? Int(status.st_size) : nil  // fits: off_t
    }

    /// The permissions of a file or folder.
    package static func mode(of file: Descriptor, _ path: String) throws(StoreError) -> mode_t {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw error("look at", path) }
        return status.st_mode & 0o7777
    }

    /// The names of the files in a folder.
    package static func fileNames(inFolder path: String) throws(StoreError) -> [String] {
        guard let folder = opendir(path) else { throw error("read", path) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// Makes a folder if it is missing. Only its owner can use it.
    package static func makeFolder(_ path: String) throws(StoreError) {
        guard mkdir(path, privateFolder) == 0 || errno == EEXIST else { throw error("create", path) }
    }

    package static func remove(_ path: String) throws(StoreError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw error("remove", path) }
    }

    package static func rename(_ path: String, to newPath: String) throws(StoreError) {
        guard systemRename(path, newPath) == 0 else { throw error("create", newPath) }
    }

    /// Gives the file a second name, unless another file has it.
    /// - Returns: whether the name was free.
    package static func link(_ path: String, to newPath: String) throws(StoreError) -> Bool {
        if systemLink(path, newPath) == 0 { return true }
        guard errno == EEXIST else { throw error("create", newPath) }
        return false
    }

    /// - Returns: the bytes; fewer than `count` only at the end of the file.
    package static func read(_ file: Descriptor, upTo count: Int, of path: String) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let number = retrying {
                bytes[filled...].withUnsafeMutableBytes { systemRead(file.number, $0.baseAddress, $0.count) }
            }
            guard number >= 0 else { throw error("read", path) }
            if number == 0 { break }
            filled += number
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Copies a file. If another file is at the new path, replaces it. Only the owner can read the copy.
    package static func copy(_ path: String, to newPath: String) throws(StoreError) {
        let source = try open(path, O_RDONLY)
        try remove(newPath)
        let target = try open(newPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        while true {
            let bytes = try read(source, upTo: 1 << 18, of: path)
            try write(bytes, to: target, of: newPath)
            if bytes.count < 1 << 18 { break }
        }
        try sync(target, newPath)
    }

    package static func write(_ bytes: [UInt8], to file: Descriptor, of path: String) throws(StoreError) {
        var written = 0
        while written < bytes.count {
            let number = retrying {
                bytes[written...].withUnsafeBytes { systemWrite(file.number, $0.baseAddress, $0.count) }
            }
            guard number >= 0 else { throw error("write", path) }
            written += number
        }
    }

    /// Waits until the contents of a file, or the names in a folder, are on the disk.
    package static func sync(_ file: Descriptor, _ path: String) throws(StoreError) {
        guard retrying({ fsync(file.number) }) == 0 else { throw error("write", path) }
    }

    /// The error for the system's last error number.
    package static func error(_ action: String, _ path: String) -> StoreError {
        let code = errno
        let advice =
            switch code {
            case EACCES, EPERM: "give the user who runs the service access to it"
            case EROFS: "choose a folder that can be written"
            case ENOENT: "create the folder above it first"
            case ENOTDIR, EISDIR: "choose another folder"
            case ENOSPC, EDQUOT: "free some space on the disk"
            case EMFILE, ENFILE: "allow more open files"
            default: "check the disk"
            }
        return StoreError(.unavailable, "Cannot \(action) \(path) (\(String(cString: strerror(code)))): \(advice).")
    }

    /// Repeats the call if a signal interrupted it.
    private static func retrying<Number: BinaryInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            if result != -1 || errno != EINTR { return result }
        }
    }
}

// These functions have the same names as the members above.

private func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t) -> CInt { open(path, flags, mode) }
private func systemStatus(_ path: String, _ status: inout stat) -> CInt { stat(path, &status) }
private func systemRename(_ path: String, _ newPath: String) -> CInt { rename(path, newPath) }
private func systemLink(_ path: String, _ newPath: String) -> CInt { link(path, newPath) }
private func systemRead(_ file: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, bytes, count)
}
private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
