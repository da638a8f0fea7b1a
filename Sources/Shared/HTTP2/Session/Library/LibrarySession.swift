#if Service
    import CNghttp2
    import NIOCore

    /// A session whose protocol is libnghttp2's. It passes the received bytes to libnghttp2, which calls back.
    final class LibrarySession: HTTP2Session {
        /// The encodings of header fields; nil unless they are observed. It is a separate object, because few connections
        /// need it.
        let encodings: ObservedEncodings?
        var ignored = IgnoredBytes()
        var block = IncomingBlock()
        var concurrency: ConcurrencyLimit
        /// libnghttp2's allocator, if some of its memory is released while the session is idle.
        var memory: LibraryMemory?
        /// Set if `sendData` finds no room in `output`.
        var isOutputFull = false
        /// GOAWAY frames that the session submitted and libnghttp2 has not written; it writes any other by itself.
        var queuedGoAways = 0

        override init(role: Role, configuration: HTTP2Configuration, application: any HTTP2Application) {
            encodings = role == .server && configuration.observesEncoding ? ObservedEncodings() : nil
            concurrency = ConcurrencyLimit(full: configuration.maxConcurrentStreams)
            super.init(role: role, configuration: configuration, application: application)
        }

        deinit {
            // Only needed if the handler was never told that the channel ended.
            if let library { nghttp2_session_del(library) }
        }

        // MARK: Beginning and end

        override func beginProtocol() -> Bool {
            if releasesIdleMemory { memory = LibraryMemory() }
            library = makeLibrary(memory)
            guard let library else { return false }
            submitFirstSettings(library)
            return true
        }

        override func endProtocol() {
            if let library { nghttp2_session_del(library) }
            library = nil
        }

        override func releaseProtocolMemory() { memory?.releaseIdleMemory() }

        // MARK: State

        /// Most acknowledgements of a device need no answer, except a WINDOW_UPDATE now and then, which the library queues
        /// itself. Its own `want_write` reads eight queues of streams, which is slow with many sessions, because each of
        /// them waits for memory.
        override var hasQueuedFrames: Bool { queuedFrames > 0 }

        override var queuedFrames: Int { library.map { nghttp2_session_get_outbound_queue_size($0) } ?? 0 }

        override var wantsToWrite: Bool { library.map { nghttp2_session_want_write($0) != 0 } ?? false }

        override var isProtocolFinished: Bool {
            guard let library else { return false }
            return nghttp2_session_want_read(library) == 0 && nghttp2_session_want_write(library) == 0
        }

        override var peerSettings: PeerSettings {
            let streams = peerSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            let list = peerSetting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
            return PeerSettings(
                maxConcurrentStreams: streams == .max ? nil : Int(streams),
                maxHeaderListBytes: list == .max ? nil : Int(list),
                streamWindowBytes: Int(peerSetting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE)),
                maxFrameBytes: Int(peerSetting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE))
            )
        }

        private func peerSetting(_ setting: nghttp2_settings_id) -> UInt32 {
            guard let library else { return 0 }
            return nghttp2_session_get_remote_settings(library, setting)
        }

        override var peerMaxConcurrentStreams: Int { Int(peerSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)) }

        override var hasUnacknowledgedSettings: Bool { concurrency.isUnacknowledged }

        override func announceStreams(_ number: Int) {
            guard min(number, concurrency.full) != concurrency.announced else { return }
            if concurrency.announce(number) { submitConcurrentStreams() }
        }

        override var admitsStream: Bool { concurrency.admits(openStreams: streams.count) }

        override var allowsRequests: Bool { library.map { nghttp2_session_check_request_allowed($0) != 0 } ?? false }

        override var hasStreamNumbers: Bool {
            library.map { nghttp2_session_get_next_stream_id($0) <= UInt32(Int32.max) } ?? false
        }

        // MARK: Submitting

        override func submitRequest(
            _ headers: borrowing HeaderBlock, _ body: OutboundBody?
        ) throws(HTTP2Error) -> StreamID {
            guard let library else { throw HTTP2Error(.notActive) }
            let number = withProvider(body) { provider in
                headers.withLibraryFields { fields, count in
                    nghttp2_submit_request(library, nil, fields, count, provider, nil)
                }
            }
            guard number > 0 else { throw HTTP2Error(.library, detail: String(cString: nghttp2_strerror(number))) }
            body?.stream = StreamID(number)
            return StreamID(number)
        }

        override func submitResponse(
            _ stream: StreamID, _ headers: borrowing HeaderBlock, _ body: OutboundBody?
        ) -> Bool {
            guard let library else { return false }
            return withProvider(body) { provider in
                headers.withLibraryFields { fields, count in
                    nghttp2_submit_response(library, stream.rawValue, fields, count, provider)
                }
            } == 0
        }

        override func resume(_ body: OutboundBody) {
            guard body.isDeferred, let library else { return }
            body.isDeferred = false
            hasNews = true
            nghttp2_session_resume_data(library, body.stream.rawValue)
        }

        override func submitReset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
            guard let library else { return }
            nghttp2_submit_rst_stream(library, 0, stream.rawValue, code.rawValue)
        }

        override func submitPing(_ payload: UInt64) {
            guard let library else { return }
            withUnsafeBytes(of: payload.bigEndian) { bytes in
                _ = nghttp2_submit_ping(library, 0, bytes.bindMemory(to: UInt8.self).baseAddress)
            }
        }

        override func submitGoAway(_ last: StreamID, _ code: HTTP2ErrorCode, _ debugData: [UInt8]) {
            guard let library else { return }
            queuedGoAways += 1
            debugData.withUnsafeBufferPointer { data in
                _ = nghttp2_submit_goaway(library, 0, last.rawValue, code.rawValue, data.baseAddress, data.count)
            }
        }

        /// The PING follows in `addGoAway`: if both were submitted together, libnghttp2 would send it before the notice.
        override func submitShutdownNotice() {
            guard let library else { return }
            nghttp2_submit_shutdown_notice(library)
        }

        // MARK: Windows

        override func consume(_ stream: StreamID, _ count: Int) {
            nghttp2_session_consume(library, stream.rawValue, count)
        }

        override func consumeOfConnection(_ stream: StreamID, _ count: Int) {
            nghttp2_session_consume_connection(library, count)
        }

        override func openWindow(_ stream: StreamID, _ count: Int) {
            guard let library else { return }
            nghttp2_session_consume_stream(library, stream.rawValue, count)
        }

        // MARK: Reading and writing

        override func read(_ buffer: ByteBuffer) { readWithLibrary(buffer) }

        /// What was under way when the service sent GOAWAY comes now.
        override func readWhileClosing(_ buffer: ByteBuffer) {
            guard hasSubmittedGoAway, !hasFailed, !hasSkippedBytes else {
                hasSkippedBytes = true
                return
            }
            readEncodings(buffer)
        }

        override var unprocessedStreams: UnprocessedStreams { encodings?.reader.unprocessed ?? UnprocessedStreams() }

        override func pump(_ context: ChannelHandlerContext) { pumpLibrary(context) }
    }
#endif
