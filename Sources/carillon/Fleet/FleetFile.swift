import APNSDevice
import Foundation

/// The file with a fleet's identities, held by one process at a time: two fleets with the same identities would take
/// each other's streams over without end.
final class FleetFile: Sendable {
    /// How much is read at a time while the identities are looked for.
    private static let pieceBytes = 1_048_576

    private let path: String
    private let descriptor: Int32

    /// Opens the file, or makes it.
    /// - Throws: where another fleet has it.
    init(path: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError("\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        // The system lets go of it when the process ends, however it ends.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw CommandError(
                "A fleet is already running with the devices of this data folder; stop it, or use another folder.")
        }
    }

    deinit { close(descriptor) }

    /// Where each identity stands, in their order.
    func places() throws -> [Range<Int>] {
        let starts = try starts()
        let end = Int(lseek(descriptor, 0, SEEK_END))
        return zip(starts, starts.dropFirst() + [end]).map { $0..<$1 }
    }

    /// Where an identity begins: each has the title as its first line. Read piece by piece, because the whole is 20 MB
    /// for 10,000 devices.
    private func starts() throws -> [Int] {
        let title = Array("\(DeviceIdentity.title)\n".utf8)
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        var (starts, offset) = ([Int](), 0)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(offset))
            guard count >= 0 else { throw unreadable }
            starts += Self.positions(of: title, in: piece[..<count]).map { offset + $0 }
            // A title may stand across the end of a piece: the next one begins before it.
            guard count >= title.count else { return starts }
            offset += count - (title.count - 1)
        }
    }

    private static func positions(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let first = text.first else { return [] }
            var (positions, next) = ([Int](), 0)
            while bytes.count - next >= text.count,
                let found = memchr(base + next, Int32(first), bytes.count - next - text.count + 1)
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

    /// What stands at a place.
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

    /// Adds identities.
    /// - Returns: where they stand.
    func append(_ identities: [DeviceIdentity]) throws -> [Range<Int>] {
        var end = Int(lseek(descriptor, 0, SEEK_END))
        var bytes: [UInt8] = []
        var places: [Range<Int>] = []
        for identity in identities {
            // Begins on a new line also after a text that was cut off.
            bytes += "\n\(identity.text)".utf8
            places.append(end + 1..<end + 1 + identity.text.utf8.count)
            end += 1 + identity.text.utf8.count
        }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: bytes)
        return places
    }
}
