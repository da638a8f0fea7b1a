#if Service
    import CNghttp2

    extension LibrarySession {
        /// Makes libnghttp2's session with our callbacks; nil if there is no memory. Delete first the session and then its
        /// memory.
        /// - Parameter memory: the session's allocator; nil for the C library's own.
        func makeLibrary(_ memory: LibraryMemory?) -> OpaquePointer? {
            var made: OpaquePointer?
            guard nghttp2_option_new(&made) == 0, let option = made else { return nil }
            defer { nghttp2_option_del(option) }

            // We open the windows ourselves, so that an application can hold back one stream.
            nghttp2_option_set_no_auto_window_update(option, 1)
            // Closed streams are needed only for RFC 7540's priorities.
            nghttp2_option_set_no_closed_streams(option, 1)
            nghttp2_option_set_max_continuations(option, configuration.maxContinuations)
            nghttp2_option_set_max_settings(option, configuration.maxSettingsEntries)
            nghttp2_option_set_max_deflate_dynamic_table_size(option, configuration.headerTableBytes)
            nghttp2_option_set_peer_max_concurrent_streams(
                option, UInt32(clamping: configuration.concurrentStreamsBeforeSettings))
            // `FloodGuard` counts resets. The library would count those of answered streams too, and answer INTERNAL_ERROR.
            nghttp2_option_set_stream_reset_rate_limit(option, .max, .max)
            // A value with a blank at an end is the application's to judge: it answers what is wrong, instead of a stream
            // error that some clients wait for in vain.
            nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1)

            let userData = Unmanaged.passUnretained(self).toOpaque()
            var session: OpaquePointer?
            let result = LibraryMemory.with(memory) { memory in
                switch role {
                case .server: nghttp2_session_server_new3(&session, LibraryCallbacks.table, userData, option, memory)
                case .client: nghttp2_session_client_new3(&session, LibraryCallbacks.table, userData, option, memory)
                }
            }
            return result == 0 ? session : nil
        }
    }
#endif
