#if Service
    import CNghttp2

    /// The callbacks of libnghttp2. Each finds its session in the user data and calls it.
    ///
    /// libnghttp2 calls them only within `nghttp2_session_mem_recv` and `nghttp2_session_mem_send`. Only the session calls
    /// these, so the unretained reference is valid during a callback.
    enum LibraryCallbacks {
        /// All sessions share this table, which is made once and never changed or freed. libnghttp2 copies it into each
        /// session.
        nonisolated(unsafe) static let table: OpaquePointer? = {
            var made: OpaquePointer?
            guard nghttp2_session_callbacks_new(&made) == 0, let table = made else { return nil }
            setReceiving(table)
            setSending(table)
            return table
        }()

        private static func setReceiving(_ table: OpaquePointer) {
            nghttp2_session_callbacks_set_on_begin_frame_callback(table) { _, head, session in
                guard let head else { return 0 }
                return LibrarySession.with(session) { $0.frameBegan(head.pointee) }
            }
            nghttp2_session_callbacks_set_on_begin_headers_callback(table) { _, frame, session in
                guard let frame else { return 0 }
                return LibrarySession.with(session) { $0.headersBegan(frame) }
            }
            nghttp2_session_callbacks_set_on_header_callback(table) {
                _, frame, name, nameCount, value, count, _, session in
                guard let frame else { return 0 }
                return LibrarySession.with(session) {
                    $0.headerReceived(
                        StreamID(LibraryCallbacks.head(of: frame).stream_id),
                        name: UnsafeBufferPointer(start: name, count: nameCount),
                        value: UnsafeBufferPointer(start: value, count: count)
                    )
                }
            }
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) { _, _, stream, bytes, count, session in
                LibrarySession.with(session) {
                    $0.dataReceived(StreamID(stream), bytes: UnsafeBufferPointer(start: bytes, count: count))
                }
            }
            nghttp2_session_callbacks_set_on_frame_recv_callback(table) { _, frame, session in
                guard let frame else { return 0 }
                return LibrarySession.with(session) { $0.frameReceived(frame) }
            }
            nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table) { _, _, _, session in
                LibrarySession.with(session) { $0.invalidFrameReceived() }
            }
            nghttp2_session_callbacks_set_on_stream_close_callback(table) { _, stream, code, session in
                LibrarySession.with(session) {
                    $0.streamClosed(StreamID(stream), HTTP2ErrorCode(code))
                    return 0
                }
            }
        }

        private static func setSending(_ table: OpaquePointer) {
            nghttp2_session_callbacks_set_send_data_callback(table) { _, frame, head, count, source, session in
                guard let frame, let head, let body = source?.pointee.ptr else {
                    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
                }
                return LibrarySession.with(session) {
                    $0.sendData(
                        flags: LibraryCallbacks.head(of: frame).flags,
                        head: UnsafeRawBufferPointer(start: head, count: OutgoingFrame.headBytes),
                        count: count,
                        body: Unmanaged<OutboundBody>.fromOpaque(body).takeUnretainedValue()
                    )
                }
            }
        }

        /// Asks a body how much of it goes into the next DATA frame. `sendData` then moves these bytes.
        static let readBody: nghttp2_data_source_read_callback = { _, _, _, length, flags, source, _ in
            guard let flags, let pointer = source?.pointee.ptr else {
                return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
            }
            let body = Unmanaged<OutboundBody>.fromOpaque(pointer).takeUnretainedValue()
            guard body.bytes > 0 || body.isFinished else {
                body.isDeferred = true
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            let count = min(length, body.bytes)
            flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
            if body.isFinished, count == body.bytes { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }

        /// A frame's head, without a copy of the union that it is part of. Every member of the union begins with the head.
        @inline(__always)
        static func head(of frame: UnsafePointer<nghttp2_frame>) -> nghttp2_frame_hd {
            UnsafeRawPointer(frame).assumingMemoryBound(to: nghttp2_frame_hd.self).pointee
        }
    }

    extension LibrarySession {
        /// Calls `body` with the session, without counting a reference. This happens several times for each request.
        @inline(__always)
        fileprivate static func with(_ pointer: UnsafeMutableRawPointer?, _ body: (LibrarySession) -> Int32) -> Int32 {
            guard let pointer else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
            return Unmanaged<LibrarySession>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
        }
    }
#endif
