import APNSDevice
import CommandSupport
import Foundation

/// The file with a fleet's identities. Only one process may hold it: two fleets with the same identities would take
/// the streams of each other's devices again and again.
final class FleetFile: Sendable {
    /// How many bytes are read at a time when searching for identities.
    private static let pieceBytes = 1_048_576

    private let path: String
    private let descriptor: Int32

    /// Opens the file, or creates it.
    /// - Throws: if another fleet holds it.
    init(path: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError("\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        // The system releases the lock when the process ends, even if it is killed.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw CommandError(
                "A fleet is already running with the devices of this data folder; stop it, or use another folder.")
        }
    }

    deinit {
        // A child process that has not yet become another program has a copy of the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The byte ranges of the identities, in order.
    func places() throws -> [Range<Int>] {
        let starts = try starts()
        let end = Int(lseek(descriptor, 0, SEEK_END))  // fits: off_t
        return zip(starts, starts.dropFirst() + [end]).map { $0..<$1 }
    }

    /// The offsets at which the identities begin. Each begins with the title line. The file is read in pieces,
    /// because it has 20 MB for 10,000 devices.
    private func starts() throws -> [Int] {
        let title = Array("\(DeviceIdentity.title)\n".utf8)
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        var (starts, offset) = ([Int](), 0)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(offset))
            guard count >= 0 else { throw unreadable }
            starts += Self.positions(of: title, in: piece[..<count]).map { offset + $0 }
            // A title may cross the end of a piece, so the next piece begins before it.
            guard count >= title.count else { return starts }
            offset += count - (title.count - 1)
        }
    }

    private static func positions(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let first = text.first else { return [] }
            var (positions, next) = ([Int](), 0)
            while bytes.count - next >= text.count,
                let found = memchr(base + next, Int32(first), bytes.count - next - text.count + 1)  // fits: a byte
            {
                let position = UnsafeRawPointer(found) - base
                let isWhole = memcmp(base + position, text, text.count) == 0
                if isWhole { positions.append(position) }
                next = position + (isWhole ? text.count : 1)
            }
            return positions
        }
    }

    private var unreadable: CommandError {
        CommandError("\(path) cannot be read, or was changed by another program.")
    }

    /// The identity at a byte range.
    func identity(at place: Range<Int>) throws -> DeviceIdentity? {
        let bytes = try [UInt8](unsafeUninitializedCapacity: place.count) { buffer, count in
            count = pread(descriptor, buffer.baseAddress, place.count, off_t(place.lowerBound))
            guard count == place.count else {
                count = max(0, count)
                throw unreadable
            }
        }
        return DeviceIdentity(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Appends identities.
    /// - Returns: their byte ranges.
    func append(_ identities: [DeviceIdentity]) throws -> [Range<Int>] {
        var end = Int(lseek(descriptor, 0, SEEK_END))  // fits: off_t
        var bytes: [UInt8] = []
        var places: [Range<Int>] = []
        for identity in identities {
            // Begin a new line, because the last text in the file may have been cut off.
            bytes += "\n\(identity.text)".utf8
            places.append(end + 1..<end + 1 + identity.text.utf8.count)
            end += 1 + identity.text.utf8.count
        }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: bytes)
        return places
    }
}
