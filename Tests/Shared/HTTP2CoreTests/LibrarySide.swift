import CNghttp2
import HTTP2Core

/// A session of libnghttp2, the reference. Its events become the same texts as those of `Side`.
final class LibrarySide {
    private var session: OpaquePointer?
    private let role: Role
    fileprivate(set) var events: [String] = []
    fileprivate var fields: [UInt32: [String]] = [:]
    /// The content that is to be sent, by stream.
    fileprivate var bodies: [UInt32: OutgoingBody] = [:]
    /// Set if the library's session can no longer be used.
    private(set) var hasFailed = false

    init(_ role: Role) {
        self.role = role
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        var option: OpaquePointer?
        nghttp2_option_new(&option)
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(option)
        }
        // The options of HTTP2Session, so that both have the same limits.
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_continuations(option, 8)
        nghttp2_option_set_max_settings(option, 32)
        nghttp2_option_set_stream_reset_rate_limit(option, .max, .max)
        Self.set(callbacks)
        let user = Unmanaged.passUnretained(self).toOpaque()
        var settings: [(UInt32, UInt32)] = [(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue, 8_000)]
        switch role {
        case .server:
            nghttp2_session_server_new2(&session, callbacks, user, option)
            settings += [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue, 1_000), (9, 1)]
        case .client:
            nghttp2_session_client_new2(&session, callbacks, user, option)
            settings.append((NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue, 0))
        }
        var entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0), value: $0.1) }
        nghttp2_submit_settings(session, 0, &entries, entries.count)
        nghttp2_session_set_local_window_size(session, 0, 0, 1_048_576)
        _ = output()
    }

    deinit { nghttp2_session_del(session) }

    /// Passes bytes to the library. What it says is in `events`.
    func receive(_ bytes: [UInt8]) {
        events = []
        guard !hasFailed else { return }
        let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
        if result < 0 {
            hasFailed = true
            events.append(result == Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue) ? "failed 1" : "failed \(result)")
        }
    }

    /// Whether the library reads nothing more.
    var isFinished: Bool { hasFailed || nghttp2_session_want_read(session) == 0 }

    /// Takes the output.
    func output() -> [UInt8] {
        var all: [UInt8] = []
        while !hasFailed {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { break }
            all.append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
        }
        return all
    }

    // MARK: Sending

    /// Answers a request. `send` brings the content if `endStream` is false.
    func respond(_ stream: UInt32, _ list: [(String, String)], endStream: Bool) {
        events = []
        withFields(list) { fields, count in
            withProvider(stream, endStream) { nghttp2_submit_response(session, Int32(stream), fields, count, $0) }
        }
    }

    /// Begins a request. `send` brings the content if `endStream` is false.
    func open(_ list: [(String, String)], endStream: Bool) {
        events = []
        let result = withFields(list) { fields, count in
            withProvider(0, endStream) { nghttp2_submit_request(session, nil, fields, count, $0, nil) }
        }
        let stream = UInt32(max(0, result))
        bodies[stream] = bodies.removeValue(forKey: 0)
        events.append("opened \(stream)")
    }

    func send(_ count: Int, on stream: UInt32, endStream: Bool) {
        events = []
        guard bodies[stream] != nil else { return }
        bodies[stream]?.add(count, endStream: endStream)
        nghttp2_session_resume_data(session, Int32(stream))
    }

    func reset(_ stream: UInt32, _ code: UInt32) {
        events = []
        nghttp2_submit_rst_stream(session, 0, Int32(stream), code)
    }

    @discardableResult
    private func withFields<Result>(
        _ list: [(String, String)], _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        // libnghttp2 copies names and values when a message is submitted.
        var bytes = list.flatMap { Array($0.0.utf8) + Array($0.1.utf8) }
        return bytes.withUnsafeMutableBufferPointer { buffer in
            var next = buffer.baseAddress
            func text(_ count: Int) -> UnsafeMutablePointer<UInt8>? {
                defer { next = next.map { $0 + count } }
                return next
            }
            let fields = list.map { name, value in
                let (nameCount, valueCount) = (name.utf8.count, value.utf8.count)
                return nghttp2_nv(
                    name: text(nameCount), value: text(valueCount), namelen: nameCount, valuelen: valueCount, flags: 0)
            }
            return fields.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
        }
    }

    private func withProvider<Result>(
        _ stream: UInt32, _ endStream: Bool, _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
    ) -> Result {
        guard !endStream else { return body(nil) }
        bodies[stream] = OutgoingBody()
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, buffer, room, flags, _, user in
            guard let user else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
            let side = Unmanaged<LibrarySide>.fromOpaque(user).takeUnretainedValue()
            guard let taken = side.bodies[UInt32(stream)]?.take(room) else {
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            buffer?.update(repeating: OutgoingBody.byte, count: taken.count)
            if taken.isEnd { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return taken.count
        }
        return body(&provider)
    }

    // MARK: Receiving

    private static func set(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let stream = frame?.pointee.hd.stream_id else { return 0 }
            return withSide(user) { $0.fields[UInt32(stream)] = [] }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, count, _, user in
            guard let stream = frame?.pointee.hd.stream_id else { return 0 }
            let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
            let value = String(decoding: UnsafeBufferPointer(start: value, count: count), as: UTF8.self)
            return withSide(user) { $0.fields[UInt32(stream), default: []].append(name + "=" + value) }
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            let text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
            return withSide(user) { $0.events.append("data \(stream) \(text)") }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame else { return 0 }
            return withSide(user) { $0.received(frame.pointee) }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
            withSide(user) { side in
                side.events.append("closed \(stream) \(code)")
                side.bodies[UInt32(stream)] = nil
            }
        }
    }

    fileprivate func received(_ frame: nghttp2_frame) {
        let stream = UInt32(frame.hd.stream_id)
        let isEnd = frame.hd.flags & 1 != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_DATA.rawValue:
            if isEnd { events.append("end \(stream)") }
        case NGHTTP2_HEADERS.rawValue:
            let list = (fields.removeValue(forKey: stream) ?? []).joined(separator: " ")
            let isRequest = frame.headers.cat == NGHTTP2_HCAT_REQUEST
            let kind =
                isRequest
                ? "request"
                : list.hasPrefix(":status=1") ? "interim" : list.hasPrefix(":status=") ? "response" : "trailers"
            events.append("\(kind) \(stream) \(list)")
            if isEnd { events.append("end \(stream)") }
        case NGHTTP2_RST_STREAM.rawValue, NGHTTP2_CONTINUATION.rawValue: break
        case NGHTTP2_SETTINGS.rawValue: events.append(isEnd ? "settings acknowledged" : "settings")
        case NGHTTP2_PING.rawValue: events.append(isEnd ? "ping acknowledged" : "ping")
        case NGHTTP2_GOAWAY.rawValue: events.append("goaway \(frame.goaway.last_stream_id)")
        case NGHTTP2_WINDOW_UPDATE.rawValue: events.append("window \(stream)")
        case NGHTTP2_PRIORITY.rawValue: events.append("priority \(stream)")
        default: break
        }
    }
}

/// Content that a side has to send: all of its bytes are the same.
struct OutgoingBody {
    static let byte = UInt8(ascii: "a")

    private(set) var count = 0
    private(set) var isEnded = false

    mutating func add(_ bytes: Int, endStream: Bool) {
        count += bytes
        isEnded = isEnded || endStream
    }

    /// Takes at most `room` bytes; nil if there is nothing to send for now.
    mutating func take(_ room: Int) -> (count: Int, isEnd: Bool)? {
        guard count > 0 || isEnded else { return nil }
        let taken = min(count, room)
        count -= taken
        return (taken, isEnded && count == 0)
    }
}

/// Calls `body` with the session of the user data.
private func withSide(_ user: UnsafeMutableRawPointer?, _ body: (LibrarySide) -> Void) -> Int32 {
    guard let user else { return 0 }
    body(Unmanaged<LibrarySide>.fromOpaque(user).takeUnretainedValue())
    return 0
}
