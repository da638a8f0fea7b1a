import APNSProvider
import CommandSupport
import Foundation
import NIOCore
import NIOPosix
import Notifications
import Synchronization

/// The lines of a batch. Each line is a notification (a JSON dictionary) or is skipped.
struct BatchLines: Sendable {
    /// The longest line that is read, in bytes. A notification of 5 KB with all its keys has less than 8 KB.
    static let maximumLineBytes = 65_536

    /// The values for keys that a line does not have.
    let defaults: PushRequest
    /// The size of the batch, in bytes, if it is a file.
    let size: Int?
    private let file: FileHandle
    private let counts = Counts()

    /// How much of the batch was read.
    final class Counts: Sendable {
        private let counts = Mutex((bytes: 0, bad: 0))
        /// The bytes that were read.
        var read: Int { counts.withLock { $0.bytes } }
        /// The lines that are not notifications.
        var bad: Int { counts.withLock { $0.bad } }
        func add(bytes: Int) { counts.withLock { $0.bytes += bytes } }
        func addBad() { counts.withLock { $0.bad += 1 } }
    }

    /// - Parameter path: `-` for standard input.
    init(path: String, defaults: PushRequest) throws {
        self.defaults = defaults
        if path == "-" {
            file = .standardInput
            size = nil
        } else {
            // Without a size, there is no share to show.
            (file, size) = try InputFile.open(path, "batch")
        }
    }

    var read: Int { counts.read }
    var bad: Int { counts.bad }

    /// The notifications. They can be read only once.
    /// - Parameter reportBad: called with each line that is not a notification.
    func notifications(reportingOthers reportBad: @escaping @Sendable (BadBatchLine) -> Void) -> Notifications {
        Notifications(lines: self, reportBad: reportBad)
    }

    struct Notifications: AsyncSequence, Sendable {
        fileprivate let lines: BatchLines
        fileprivate let reportBad: @Sendable (BadBatchLine) -> Void

        func makeAsyncIterator() -> Iterator { Iterator(lines: lines, reportBad: reportBad) }
    }

    struct Iterator: AsyncIteratorProtocol {
        private let lines: BatchLines
        private let reportBad: @Sendable (BadBatchLine) -> Void
        private var rest: [UInt8] = []
        private var position = 0
        private var number = 0
        private var isAtEnd = false
        /// The error for the present line, if it is longer than the limit. The rest of the line is dropped.
        private var tooLong: BadBatchLine?

        fileprivate init(lines: BatchLines, reportBad: @escaping @Sendable (BadBatchLine) -> Void) {
            self.lines = lines
            self.reportBad = reportBad
        }

        mutating func next() async throws -> PushRequest? {
            while let line = try await nextLine() {
                number += 1
                // Files that were joined may have a mark before any line.
                let line = JSONValue.withoutMark(line)
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }), tooLong == nil { continue }
                do throws(BadBatchLine) {
                    if let tooLong { throw tooLong }
                    return try lines.request(line, number)
                } catch {
                    tooLong = nil
                    lines.counts.addBad()
                    reportBad(error)
                }
            }
            return nil
        }

        private mutating func nextLine() async throws -> [UInt8]? {
            var searched = position
            while true {
                if let end = rest[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    defer { position = end + 1 }
                    return Array(rest[position..<end])
                }
                guard !isAtEnd else {
                    guard position < rest.count || tooLong != nil else { return nil }
                    defer { position = rest.count }
                    return Array(rest[position...])
                }
                rest.removeFirst(position)
                position = 0
                if rest.count > maximumLineBytes {
                    // The beginning of the line is here, and may contain its device token.
                    tooLong =
                        tooLong
                        ?? BadBatchLine(
                            number: number + 1, rest[...], cause: "it is longer than \(maximumLineBytes) bytes")
                    rest.removeAll(keepingCapacity: true)
                }
                searched = rest.count
                let piece = try await lines.readPiece()
                isAtEnd = piece.isEmpty
                rest += piece
            }
        }
    }

    /// Reads a piece of the file on a separate thread, because reading blocks it.
    private func readPiece() async throws -> [UInt8] {
        let descriptor = file.fileDescriptor
        let piece = try await NIOThreadPool.singleton.runIfActive { () throws -> [UInt8] in
            try [UInt8](unsafeUninitializedCapacity: Self.maximumLineBytes) { buffer, count in
                var result: Int
                repeat {
                    result = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                } while result < 0 && errno == EINTR
                guard result >= 0 else {
                    throw CommandError("The batch cannot be read: \(String(cString: strerror(errno)))")
                }
                count = result
            }
        }
        counts.add(bytes: piece.count)
        return piece
    }

    // MARK: A line

    private func request(_ line: [UInt8], _ number: Int) throws(BadBatchLine) -> PushRequest {
        guard let object = JSONObject(line) else {
            throw BadBatchLine(
                number: number, line[...], cause: String(JSONObject.refusal(of: line, as: "it").dropLast()))
        }
        guard let token = Self.text(object, "token") else {
            throw BadBatchLine(number: number, line[...], cause: "it has no token")
        }
        var request = defaults
        request.deviceToken = token
        if let payload = object[raw: "payload"] { request.payload = ByteBuffer(bytes: payload) }
        request.topic = Self.text(object, "topic") ?? request.topic
        request.id = Self.text(object, "id") ?? request.id
        request.expiration = Self.text(object, "expiration") ?? request.expiration
        request.priority = Self.text(object, "priority") ?? request.priority
        request.collapseID = Self.text(object, "collapseID") ?? request.collapseID
        request.pushType = Self.text(object, "pushType") ?? request.pushType
        return request
    }

    /// A text or a number in the form of a header's value; nil if the line has none.
    private static func text(_ object: JSONObject, _ key: String) -> String? {
        guard let raw = object[raw: key], raw.first != UInt8(ascii: "\"") else { return object[text: key] }
        let text = String(decoding: raw, as: UTF8.self)
        return text == "null" ? nil : text
    }
}
