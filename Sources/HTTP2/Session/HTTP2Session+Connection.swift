import CNghttp2
import Connections
import NIOCore

// The methods for the connection as a whole. They queue frames, which are sent with the next flush.
extension HTTP2Session {
    /// The most debug data a GOAWAY can carry: what fits a frame that every peer accepts (RFC 9113, 4.2).
    static let maxDebugDataBytes = 16_384 - 8

    /// Whether no new streams will come: a drain was begun, or GOAWAY was submitted or received.
    package var isDraining: Bool {
        if case .none = drain { return hasReceivedGoAway || hasSubmittedGoAway }
        return true
    }

    /// Server: whether the client has not acknowledged SETTINGS yet. Until it does, the greater number of streams is
    /// valid. An application that lowers the number for safety ends the connection with SETTINGS_TIMEOUT if this takes
    /// too long (RFC 9113, 6.5.3).
    package var hasUnacknowledgedSettings: Bool { concurrency.isUnacknowledged }

    /// The peer's settings, the protocol's initial ones before its own have come.
    package var peerSettings: PeerSettings {
        func value(_ setting: nghttp2_settings_id) -> UInt32 {
            guard let library else { return 0 }
            return nghttp2_session_get_remote_settings(library, setting)
        }
        let streams = value(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        let list = value(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
        return PeerSettings(
            maxConcurrentStreams: streams == .max ? nil : Int(streams),
            maxHeaderListBytes: list == .max ? nil : Int(list),
            streamWindowBytes: Int(value(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE)),
            maxFrameBytes: Int(value(NGHTTP2_SETTINGS_MAX_FRAME_SIZE))
        )
    }

    /// Server: changes how many streams the client may have open, at most `maxConcurrentStreams`.
    ///
    /// Streams the client opened before it acknowledged a smaller number are served. Later ones are refused without the
    /// application's hearing of them.
    package func announce(concurrentStreams: Int) {
        guard role == .server, state == .active else { return }
        guard min(concurrentStreams, concurrency.full) != concurrency.announced else { return }
        if concurrency.announce(concurrentStreams) { submitConcurrentStreams() }
    }

    /// Sends PING; `pingAcknowledged` brings the payload back.
    package func ping(_ payload: UInt64) {
        guard state == .active, let library, !hasLibraryFailed else { return }
        submitPing(library, payload)
        scheduleFlush()
    }

    /// Sends GOAWAY: streams above `lastStream` (by default the last one the application was told of) were not
    /// processed, and no new one will be. Open streams go on; the channel is closed when the last is done, or at once
    /// with `close()`. Debug data over 16,376 bytes is cut.
    package func goAway(
        lastStream: StreamID? = nil,
        _ code: HTTP2ErrorCode,
        debugData: [UInt8] = []
    ) {
        guard state == .active, let library, !hasLibraryFailed else { return }
        let last = role == .server ? lastStream ?? lastProcessedStream : lastStream ?? .none
        submitGoAway(library, last, code, debugData)
        scheduleFlush()
    }

    private func submitGoAway(
        _ library: OpaquePointer,
        _ last: StreamID,
        _ code: HTTP2ErrorCode,
        _ debugData: [UInt8],
    ) {
        hasSubmittedGoAway = true
        queuedGoAways += 1
        debugData.prefix(Self.maxDebugDataBytes).withUnsafeBufferPointer { data in
            _ = nghttp2_submit_goaway(library, 0, last.rawValue, code.rawValue, data.baseAddress, data.count)
        }
        hasNews = true
    }

    /// Begins a graceful end (RFC 9113, 6.8).
    ///
    /// A server sends GOAWAY with stream 2^31-1 and the debug data, serves what the client had under way, and sends the
    /// second GOAWAY, with the last stream processed and the same data, when a PING sent after the first has come back
    /// or `finishDrain()` is called. A client makes no more requests and says so with one GOAWAY. The channel is closed
    /// when the last stream is done; a deadline for that is the application's.
    package func drain(debugData: [UInt8] = []) {
        guard state == .active, let library, !hasLibraryFailed, case .none = drain else { return }
        let debugData = Array(debugData.prefix(Self.maxDebugDataBytes))
        // The peer knows already that the connection ends.
        guard role == .server, !hasSubmittedGoAway, !hasReceivedGoAway else {
            drain = .finished(debugData: debugData)
            goAway(.noError, debugData: debugData)
            return
        }
        drain = .began(debugData: debugData)
        nghttp2_submit_shutdown_notice(library)
        scheduleFlush()
    }

    /// Sends the second GOAWAY of a drain now, when the client takes too long to answer.
    package func finishDrain() {
        guard case .began(let debugData) = drain else { return }
        drain = .finished(debugData: debugData)
        isDrainPingDue = false
        goAway(.noError, debugData: debugData)
    }

    /// Server: ends with answers first and one GOAWAY after them.
    ///
    /// Clients on python-h2 refuse every frame after a GOAWAY, and with it the answers that they wait for; so it comes last.
    /// A stream that the client opens meanwhile is refused with REFUSED_STREAM, and can be sent again elsewhere. The channel
    /// is closed when the last stream is done. How long an answer may take is the application's to bound.
    package func goAwayOnceAnswered(debugData: [UInt8] = []) {
        guard role == .server, state == .active, !hasLibraryFailed, case .none = drain else { return }
        guard !hasSubmittedGoAway else { return }
        drain = .answering(debugData: Array(debugData.prefix(Self.maxDebugDataBytes)))
        scheduleFlush()
    }

    /// Whether it is time for GOAWAY: all requests have their answers, and libnghttp2 has nothing more to send.
    var isGoAwayDue: Bool {
        guard case .answering = drain else { return false }
        return state == .closing || streams.streams { !$0.isAnswered }.isEmpty
    }

    /// The GOAWAY that comes after all answers.
    func endAnswering() {
        guard case .answering(let debugData) = drain, let library, !hasLibraryFailed else { return }
        drain = .finished(debugData: debugData)
        submitGoAway(library, lastProcessedStream, .noError, debugData)
    }

    /// Closes the channel after what is queued was written, GOAWAY for one. Nothing more is told but `streamClosed` for
    /// what is still open, and `sessionClosed`.
    package func close() {
        switch state {
        case .active:
            beginClosing(.closed)
        case .idle:
            end = .closed
            context?.close(promise: nil)
        case .closing, .closed:
            break
        }
    }

    /// Closes the channel at once with RST, as if the machine had failed. For rehearsals.
    package func abort() {
        guard let channel = context?.channel else { return }
        AbruptEnd.close(channel)
    }

    // MARK: Helpers

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
        guard let library, !hasLibraryFailed else { return }
        var entry = nghttp2_settings_entry(
            settings_id: Int32(bitPattern: NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
            value: UInt32(clamping: concurrency.full))
        nghttp2_submit_settings(library, 0, &entry, 1)
        scheduleFlush()
    }

    func submitPing(_ library: OpaquePointer, _ payload: UInt64) {
        withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = nghttp2_submit_ping(library, 0, bytes.bindMemory(to: UInt8.self).baseAddress)
        }
    }
}
