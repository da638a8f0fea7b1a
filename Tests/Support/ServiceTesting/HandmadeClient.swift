import Service

/// A provider over HTTP/2 that makes its frames itself (RFC 9113, 4.1; RFC 7541, 6.2).
final class HandmadeClient {
    private enum Kind {
        static let (data, headers, priority, reset, settings) = (UInt8(0), UInt8(1), UInt8(2), UInt8(3), UInt8(4))
        static let (ping, goAway, windowUpdate, continuation) = (UInt8(6), UInt8(7), UInt8(8), UInt8(9))
    }

    private enum Flag {
        static let (endStream, endHeaders) = (UInt8(0x1), UInt8(0x4))
    }

    /// How a header is written.
    enum Form: UInt8 {
        case withoutIndexing = 0x00
        /// It enters the table.
        case incremental = 0x40
    }

    private let bytes: ByteClient
    private var lastStream: UInt32 = 0
    /// Whether it acknowledges SETTINGS when it reads them.
    var acknowledgesSettings = true

    /// - Parameters:
    ///   - address: where to connect.
    ///   - settings: the client's settings, by their numbers (RFC 9113, 6.5.2).
    ///   - receiving: how many bytes the system may keep for the client unread; nil leaves that to the system.
    init(
        _ test: TestService,
        at address: KeyPath<ServiceDescription.Addresses, String> = \.provider,
        settings: [(UInt16, UInt32)] = [],
        receiving: Int? = nil,
    ) async throws {
        bytes = try await ByteClient.connect(
            port: test.port(address), authorityFile: test.description.ca, protocols: ["h2"], receiving: receiving)
        let values = settings.flatMap { Self.number(UInt32($0.0), bytes: 2) + Self.number($0.1, bytes: 4) }
        try await bytes.write(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(Kind.settings, values))
    }

    /// Sends a request and waits for its answer.
    /// - Parameter form: the encoding of the path and the provider token.
    /// - Returns: whether it was accepted.
    func send(
        _ headers: [(String, String)],
        form: Form = .withoutIndexing,
        body: String = #"{"aps":{"alert":"Hello"}}"#,
    ) async throws -> Bool {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        try await request(headers, form, body)
        let answer = try await read { $0.kind == Kind.headers && $0.stream == self.lastStream }
        // The table's field for the status 200 (RFC 7541, A).
        return answer.payload.first == 0x88
    }

    /// Sends a request, and waits for its answer.
    /// - Returns: the answer's body; empty if the stream was reset.
    func body(_ headers: [(String, String)], body: String = "{}") async throws -> String {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        try await request(headers, .withoutIndexing, body)
        var answer: [UInt8] = []
        let last = try await read {
            guard $0.stream == self.lastStream else { return false }
            if $0.kind == Kind.data { answer += $0.payload }
            return $0.kind == Kind.reset || $0.flags & Flag.endStream != 0
        }
        return last.kind == Kind.reset ? "" : String(decoding: answer, as: UTF8.self)
    }

    /// Sends many requests' headers without an end at once, and waits for nothing.
    func burst(_ count: Int, _ headers: [(String, String)], endStream: Bool = false) async throws {
        let block = headers.flatMap { [Form.withoutIndexing.rawValue] + Self.text($0) + Self.text($1) }
        var frames: [UInt8] = []
        for _ in 0..<count {
            lastStream = lastStream == 0 ? 1 : lastStream + 2
            let flags = endStream ? Flag.endHeaders | Flag.endStream : Flag.endHeaders
            frames += Self.frame(Kind.headers, flags: flags, stream: lastStream, block)
        }
        try await bytes.write(frames)
    }

    /// Reads until this many requests were refused without being processed (RFC 9113, 8.7).
    func refused(_ count: Int) async throws {
        guard count > 0 else { return }
        var left = count
        _ = try await read {
            if $0.kind == Kind.reset, $0.payload == [0, 0, 0, 7] { left -= 1 }
            return left == 0
        }
    }

    /// Sends more of a request's headers, without their end.
    func continueHalf(_ count: Int, bytes size: Int) async throws {
        let part = [UInt8](repeating: 0, count: size)
        for _ in 0..<count { try await bytes.write(Self.frame(Kind.continuation, stream: lastStream, part)) }
    }

    /// Increases the connection's window.
    func openWindow(_ increment: UInt32) async throws {
        try await bytes.write(Self.frame(Kind.windowUpdate, Self.number(increment, bytes: 4)))
    }

    /// Reads nothing more from the socket.
    func stopReading() async throws { try await bytes.stopReading() }

    /// Sends a request's headers, and nothing else of it.
    func begin(_ headers: [(String, String)]) async throws {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        let block = headers.flatMap { [Form.withoutIndexing.rawValue] + Self.text($0) + Self.text($1) }
        try await bytes.write(Self.frame(Kind.headers, flags: Flag.endHeaders, stream: lastStream, block))
    }

    /// Sends the beginning of a request's headers.
    func beginHalf(_ headers: [(String, String)]) async throws {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        let block = headers.flatMap { [Form.withoutIndexing.rawValue] + Self.text($0) + Self.text($1) }
        try await bytes.write(Self.frame(Kind.headers, stream: lastStream, block))
    }

    /// Waits until the service has ended the connection.
    func ended() async { _ = await bytes.readToEnd() }

    /// Sends a request, and waits for nothing.
    func sendOnly(_ headers: [(String, String)], body: String) async throws {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        try await request(headers, .withoutIndexing, body)
    }

    private func request(_ headers: [(String, String)], _ form: Form, _ body: String) async throws {
        let block = headers.flatMap { name, value in
            let isSpecial = name == ":path" || name == "authorization"
            return [isSpecial ? form.rawValue : Form.withoutIndexing.rawValue] + Self.text(name) + Self.text(value)
        }
        try await bytes.write(
            Self.frame(Kind.headers, flags: Flag.endHeaders, stream: lastStream, block)
                + Self.frame(Kind.data, flags: Flag.endStream, stream: lastStream, Array(body.utf8)))
    }

    /// Sends a request and reads until GOAWAY.
    /// - Returns: whether the whole answer came before it.
    func isAnsweredBeforeGoAway(_ headers: [(String, String)]) async throws -> Bool {
        lastStream = lastStream == 0 ? 1 : lastStream + 2
        try await request(headers, .withoutIndexing, #"{"aps":{"alert":"Hello"}}"#)
        let last = try await read {
            $0.kind == Kind.goAway || $0.stream == self.lastStream && $0.flags & Flag.endStream != 0
        }
        guard last.kind != Kind.goAway else { return false }
        _ = try await read { $0.kind == Kind.goAway }
        return true
    }

    func sendPriority(of stream: UInt32) async throws {
        try await bytes.write(Self.frame(Kind.priority, stream: stream, [0, 0, 0, 0, 16]))
    }

    /// Increases the connection's window by one byte, this many times.
    func sendWindowUpdates(_ count: Int) async throws {
        let frame = Self.frame(Kind.windowUpdate, Self.number(1, bytes: 4))
        try await bytes.write(Array((0..<count).map { _ in frame }.joined()))
    }

    /// Sends PING and waits for the answer.
    func ping() async throws {
        try await bytes.write(Self.frame(Kind.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
        _ = try await read { $0.kind == Kind.ping && $0.flags == 0x1 }
    }

    /// Ends the connection, and waits until the service has ended it too.
    func close() async { await bytes.close() }

    // MARK: Frames

    private struct Frame {
        let kind: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]
    }

    private func read(until isWanted: (Frame) -> Bool) async throws -> Frame {
        while true {
            let head = try required(await bytes.read(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let frame = Frame(
                kind: head[3], flags: head[4], stream: stream, payload: try required(await bytes.read(length)))
            if acknowledgesSettings, frame.kind == Kind.settings, frame.flags == 0 {
                // This fails if the service has closed the connection after a GOAWAY that is still to be read.
                try? await bytes.write(Self.frame(Kind.settings, flags: 0x1, []))
            }
            if isWanted(frame) { return frame }
        }
    }

    private static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]) -> [UInt8] {
        number(UInt32(payload.count), bytes: 3) + [kind, flags] + number(stream, bytes: 4) + payload
    }

    private static func number(_ value: UInt32, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
    }

    /// A string that is not compressed (RFC 7541, 5.2).
    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (length, rest): ([UInt8], Int) = ([127], bytes.count - 127)
        while rest >= 128 {
            length.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }
}
