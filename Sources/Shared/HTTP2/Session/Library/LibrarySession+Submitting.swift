#if Service
    import CNghttp2
    import NIOCore

    // What libnghttp2 gets with its first frames, and with bodies.
    extension LibrarySession {
        func submitFirstSettings(_ library: OpaquePointer) {
            var entries: [nghttp2_settings_entry] = []
            func set(_ setting: nghttp2_settings_id, _ value: Int, initially: Int) {
                guard value != initially else { return }
                let entry = nghttp2_settings_entry(
                    settings_id: Int32(bitPattern: setting.rawValue), value: UInt32(clamping: value))
                entries.append(entry)
            }
            switch role {
            case .server:
                if concurrency.announce(configuration.announcedConcurrentStreams) {
                    set(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, concurrency.full, initially: -1)
                }
                // RFC 7540's priorities are ignored (RFC 9113, 5.3.2; RFC 9218, 2.1).
                set(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1, initially: 0)
            case .client:
                set(NGHTTP2_SETTINGS_ENABLE_PUSH, 0, initially: 1)
            }
            set(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, configuration.headerTableBytes, initially: 4_096)
            set(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, configuration.streamWindowBytes, initially: 65_535)
            set(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, configuration.maxFrameBytes, initially: 16_384)
            set(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, configuration.maxHeaderListBytes, initially: -1)
            nghttp2_submit_settings(library, 0, entries, entries.count)
            nghttp2_session_set_local_window_size(library, 0, 0, Int32(clamping: configuration.connectionWindowBytes))
        }

        /// libnghttp2 gets the full number. The announced number is written into the frame when it is sent.
        func submitConcurrentStreams() {
            guard let library, !hasFailed else { return }
            var entry = nghttp2_settings_entry(
                settings_id: Int32(bitPattern: NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: UInt32(clamping: concurrency.full))
            nghttp2_submit_settings(library, 0, &entry, 1)
            scheduleFlush()
        }

        func withProvider<Result>(
            _ body: OutboundBody?,
            _ submit: (UnsafePointer<nghttp2_data_provider>?) -> Result
        ) -> Result {
            guard let body else { return submit(nil) }
            // The table keeps the body while libnghttp2 has the pointer.
            let source = nghttp2_data_source(ptr: Unmanaged.passUnretained(body).toOpaque())
            return withUnsafePointer(
                to: nghttp2_data_provider(source: source, read_callback: LibraryCallbacks.readBody), submit)
        }
    }
#endif
