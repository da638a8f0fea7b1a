import CNghttp2

/// A server's session of libnghttp2, the reference. Its events become the same texts as those of `Side`.
final class LibrarySide {
    private var session: OpaquePointer?
    fileprivate(set) var events: [String] = []
    fileprivate var fields: [UInt32: [String]] = [:]
    /// Set if the library's session can no longer be used.
    private(set) var hasFailed = false

    init() {
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
        nghttp2_session_server_new2(&session, callbacks, Unmanaged.passUnretained(self).toOpaque(), option)
        var entries = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: 1_000),
            nghttp2_settings_entry(settings_id: 9, value: 1),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 8_000),
        ]
        nghttp2_submit_settings(session, 0, &entries, entries.count)
        nghttp2_session_set_local_window_size(session, 0, 0, 1_048_576)
        _ = output()
    }

    deinit { nghttp2_session_del(session) }

    /// Passes bytes to the library, and returns its events.
    func receive(_ bytes: [UInt8]) -> [String] {
        events = []
        guard !hasFailed else { return [] }
        let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
        if result < 0 {
            hasFailed = true
            events.append(result == Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue) ? "failed 1" : "failed \(result)")
        }
        return events
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

    /// Answers a request without content.
    func respond(_ stream: UInt32) {
        let (name, value) = (Array(":status".utf8), Array("200".utf8))
        name.withUnsafeBufferPointer { name in
            value.withUnsafeBufferPointer { value in
                var field = nghttp2_nv(
                    name: UnsafeMutablePointer(mutating: name.baseAddress),
                    value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.count,
                    valuelen: value.count, flags: 0)
                nghttp2_submit_response(session, Int32(stream), &field, 1, nil)
            }
        }
    }

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
            withSide(user) { $0.events.append("closed \(stream) \(code)") }
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
            events.append("\(isRequest ? "request" : "trailers") \(stream) \(list)")
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

/// Calls `body` with the session of the user data.
private func withSide(_ user: UnsafeMutableRawPointer?, _ body: (LibrarySide) -> Void) -> Int32 {
    guard let user else { return 0 }
    body(Unmanaged<LibrarySide>.fromOpaque(user).takeUnretainedValue())
    return 0
}
