import CNghttp2
import Connections
import NIOCore

// The methods for the connection as a whole. They queue frames, which are sent with the next flush.
extension HTTP2Session {
    /// The most debug data of a GOAWAY, in bytes, so that it fits into a frame that every peer accepts (RFC 9113, 4.2).
    static let maxDebugDataBytes = 16_384 - 8

    /// Whether no new streams will come: a drain was begun, or GOAWAY was submitted or received.
    package var isDraining: Bool {
        if case .none = drain { return hasReceivedGoAway || hasSubmittedGoAway }
        return true
    }

    /// Server: whether the client has not acknowledged SETTINGS yet. Until it does, the greater of the two numbers of
    /// streams applies. If this takes too long, an application that has lowered the number for safety ends the
    /// connection with SETTINGS_TIMEOUT (RFC 9113, 6.5.3).
    package var hasUnacknowledgedSettings: Bool { concurrency.isUnacknowledged }

    /// The peer's settings. Before its SETTINGS have come, these are the protocol's initial values.
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
    /// Streams that the client opened before it acknowledged a smaller number are served. Later ones are refused, and
    /// the application does not see them.
    package func announce(concurrentStreams: Int) {
        guard role == .server, state == .active else { return }
        guard min(concurrentStreams, concurrency.full) != concurrency.announced else { return }
        if concurrency.announce(concurrentStreams) { submitConcurrentStreams() }
    }

    /// Sends PING. The payload comes back with `pingAcknowledged`.
    package func ping(_ payload: UInt64) {
        guard state == .active, let library, !hasLibraryFailed else { return }
        submitPing(library, payload)
        scheduleFlush()
    }

    /// Sends GOAWAY: streams above `lastStream` were not processed, and no new stream is accepted. By default
    /// `lastStream` is the last stream that the application has seen. Open streams continue. The channel is closed when
    /// the last one has ended, or at once by `close()`. Debug data beyond 16,376 bytes is cut off.
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
    /// A server sends GOAWAY with stream 2^31-1 and the debug data, and then a PING. It serves the requests that were
    /// under way. When the PING was answered, or `finishDrain()` is called, it sends a second GOAWAY with the last
    /// processed stream and the same data. A client makes no more requests and sends one GOAWAY. The channel is closed
    /// when the last stream has ended. The application has to limit how long that may take.
    package func drain(debugData: [UInt8] = []) {
        guard state == .active, let library, !hasLibraryFailed, case .none = drain else { return }
        let debugData = Array(debugData.prefix(Self.maxDebugDataBytes))
        // The peer already knows that the connection ends.
        guard role == .server, !hasSubmittedGoAway, !hasReceivedGoAway else {
            drain = .finished(debugData: debugData)
            goAway(.noError, debugData: debugData)
            return
        }
        drain = .began(debugData: debugData)
        nghttp2_submit_shutdown_notice(library)
        scheduleFlush()
    }

    /// Sends the second GOAWAY of a drain now, because the client takes too long to answer the PING.
    package func finishDrain() {
        guard case .began(let debugData) = drain else { return }
        drain = .finished(debugData: debugData)
        isDrainPingDue = false
        goAway(.noError, debugData: debugData)
    }

    /// Server: ends the connection by answering all requests first and then sending one GOAWAY.
    ///
    /// Clients with python-h2 refuse every frame after a GOAWAY, and so lose the answers that they wait for. Therefore
    /// GOAWAY comes last. Streams that the client opens meanwhile are refused with REFUSED_STREAM, and can be sent
    /// again elsewhere. The channel is closed when the last stream has ended. The application has to limit how long the
    /// answers may take.
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

    /// Sends the GOAWAY that follows all answers.
    func endAnswering() {
        guard case .answering(let debugData) = drain, let library, !hasLibraryFailed else { return }
        drain = .finished(debugData: debugData)
        submitGoAway(library, lastProcessedStream, .noError, debugData)
    }

    /// Closes the channel after the queued frames, such as GOAWAY, were written. The application then only gets
    /// `streamClosed` for the open streams, and `sessionClosed`.
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
