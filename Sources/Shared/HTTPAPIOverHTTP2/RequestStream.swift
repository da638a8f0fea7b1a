import HTTPTypes
import NIOCore

/// One request and its answer. Confined to the connection's event loop.
final class RequestStream {
    enum Answer {
        case none
        /// The head was sent. The body follows.
        case begun
        /// Everything was handed to the session.
        case complete
        /// The stream was reset.
        case reset
    }

    /// When its fields came.
    let began: NIODeadline
    let isHead: Bool
    /// The request, until its task begins.
    var request: HTTPRequest?

    // MARK: The request's body

    /// What has arrived and was not read.
    private var body = ByteBuffer()
    /// How many bytes of it have arrived.
    private(set) var arrived = 0
    /// Whether the request has arrived completely.
    private(set) var hasEnded = false
    /// Whether the session opens the stream's window no more.
    private(set) var isPaused = false
    private var reader: CheckedContinuation<ByteBuffer?, any Error>?

    // MARK: Its answer

    var answer = Answer.none
    /// When the answer was complete, if the request was not.
    var cutShort: NIODeadline?
    /// Since when the client has to read what was sent; nil if there is nothing to read.
    var unread: NIODeadline?
    /// Whether the session takes no more of the answer for now.
    private var isFull = false
    private var writer: CheckedContinuation<Void, any Error>?

    init(_ request: HTTPRequest, began: NIODeadline) {
        self.request = request
        self.began = began
        isHead = request.method == .head
    }

    /// - Parameter mark: the number of unread bytes from which no more should come.
    /// - Returns: whether the stream has to be paused.
    func received(_ bytes: Span<UInt8>, mark: Int) -> Bool {
        arrived += bytes.count
        guard answer == .none || answer == .begun else { return false }
        bytes.withUnsafeBytes { _ = body.writeBytes($0) }
        if let reader {
            self.reader = nil
            reader.resume(returning: takeBody())
        }
        guard body.readableBytes >= mark, !isPaused else { return false }
        isPaused = true
        return true
    }

    func end() {
        hasEnded = true
        guard let reader else { return }
        self.reader = nil
        reader.resume(returning: nil)
    }

    func takeBody() -> ByteBuffer {
        defer { body = ByteBuffer() }
        return body
    }

    /// Resumes a reader with the next bytes, or with nil at the end, when there are any.
    /// - Returns: whether the stream's window has to be opened again.
    func read(_ reader: CheckedContinuation<ByteBuffer?, any Error>) -> Bool {
        guard body.readableBytes > 0 else {
            if hasEnded { reader.resume(returning: nil) } else { self.reader = reader }
            return false
        }
        reader.resume(returning: takeBody())
        defer { isPaused = false }
        return isPaused
    }

    /// The session takes no more of the answer until ``writable()``.
    func fill(at now: NIODeadline) {
        isFull = true
        unread = now
    }

    func writable() {
        isFull = false
        if answer == .begun { unread = nil }
        writer?.resume()
        writer = nil
    }

    /// Resumes a writer when the session takes more.
    func awaitRoom(_ writer: CheckedContinuation<Void, any Error>) {
        if isFull { self.writer = writer } else { writer.resume() }
    }

    /// Nobody gets the rest of the request or of its answer.
    func abandon() {
        body = ByteBuffer()
        request = nil
        reader?.resume(throwing: RequestEnded())
        writer?.resume(throwing: RequestEnded())
        (reader, writer) = (nil, nil)
    }
}

/// The client has gone or was refused, so the request has no end and its answer no reader.
struct RequestEnded: Error {}
