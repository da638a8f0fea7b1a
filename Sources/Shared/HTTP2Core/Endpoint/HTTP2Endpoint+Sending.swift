// Sending. Each method writes whole frames to the output, and nothing if the protocol does not allow it.
extension HTTP2Endpoint {
    /// The number of bytes in the output from which `sendData` takes no more. A caller that does not get rid of the
    /// output keeps the rest of its bodies itself.
    package static let maxOutputBytes = 65_536

    /// The reason why a request could not begin.
    package enum OpenFailure: Error, Sendable {
        /// The endpoint is a server's, or has failed.
        case notActive
        /// GOAWAY was sent or received (RFC 9113, 6.8): use another connection.
        case goingAway
        /// All stream numbers are used up (RFC 9113, 5.1.1): use another connection.
        case streamsUsedUp
        /// As many streams are open as the peer allows (RFC 9113, 5.1.2).
        case tooManyStreams
        /// The fields break a rule (RFC 9113, 8.2 and 8.3).
        case malformed(Fault)
    }

    /// The result of sending fields.
    package enum SendResult: Sendable {
        case sent
        /// The stream is not open, or our side has ended.
        case closed
        /// The fields break a rule (RFC 9113, 8.2 and 8.3). Nothing was sent.
        case malformed(Fault)
    }

    /// The bytes that are to be sent. Call `outputTaken()` after sending them.
    package var output: [UInt8] { mutating get { writer.bytes } }

    /// Removes the output, which was sent.
    package mutating func outputTaken() {
        writer.bytes.removeAll(keepingCapacity: true)
        unsentReplies = 0
    }

    /// RFC 9113, 3.4: the preface, and SETTINGS with what differs from the initial values.
    mutating func begin() {
        var settings = Settings()
        settings.headerTableBytes = limits.headerTableBytes
        settings.streamWindowBytes = min(max(0, limits.streamWindowBytes), Window.maximum)
        settings.maxFrameBytes = min(
            max(limits.maxFrameBytes, Settings.frameSizes.lowerBound), Settings.frameSizes.upperBound)
        settings.maxHeaderListBytes = limits.maxHeaderListBytes
        var entries: [(Setting, UInt32)] = []
        switch role {
        case .server:
            let streams = min(max(0, limits.announcedConcurrentStreams), limits.maxConcurrentStreams)
            settings.maxConcurrentStreams = streams
            entries.append((.maxConcurrentStreams, UInt32(clamping: streams)))
            // RFC 7540's priorities are ignored (RFC 9113, 5.3.2; RFC 9218, 2.1).
            entries.append((.noRFC7540Priorities, 1))
        case .client:
            settings.enablesPush = false
            entries.append((.enablePush, 0))
            writer.bytes.append(literal: Self.preface)
        }
        let initial = Settings()
        func add(_ setting: Setting, _ value: Int, unless initial: Int?) {
            if value != initial { entries.append((setting, UInt32(clamping: value))) }
        }
        add(.headerTableSize, settings.headerTableBytes, unless: initial.headerTableBytes)
        add(.initialWindowSize, settings.streamWindowBytes, unless: initial.streamWindowBytes)
        add(.maxFrameSize, settings.maxFrameBytes, unless: initial.maxFrameBytes)
        add(.maxHeaderListSize, limits.maxHeaderListBytes, unless: nil)
        writer.settings(entries)
        local.begin(settings)
        decoder.setLimit(local.headerTableBytes)
        // RFC 9113, 6.9.2: only WINDOW_UPDATE changes the connection's window.
        let more = min(limits.connectionWindowBytes, Window.maximum) - Window.initialOfConnection
        if more > 0 {
            writer.windowUpdate(.connection, by: more)
            receiveWindow.adjust(by: more)
        }
    }

    // MARK: Streams

    /// Client: the number of requests that can begin now (RFC 9113, 5.1.2).
    package var availableStreams: Int {
        mutating get {
            guard role == .client, state.isRunning else { return 0 }
            let peer =
                state.hasReceivedSettings
                ? peerSettings.maxConcurrentStreams ?? .max : limits.concurrentStreamsBeforeSettings
            return max(0, min(peer, limits.maxConcurrentStreams) - streams.count)
        }
    }

    /// Client: begins a request. If `endStream` is false, `sendData` sends its content.
    package mutating func open(_ list: FieldList, endStream: Bool) throws(OpenFailure) -> StreamID {
        guard role == .client, state.canSend else { throw .notActive }
        guard state.isRunning else { throw .goingAway }
        guard nextStream <= StreamID.last.rawValue else { throw .streamsUsedUp }
        guard availableStreams > 0 else { throw .tooManyStreams }
        let id = StreamID(nextStream)
        var stream = Stream(
            id, sendWindow: peerSettings.streamWindowBytes, receiveWindow: local.inForce.streamWindowBytes)
        do throws(Fault) {
            let rules = try MessageRules.check(list, as: .request, allowsBlanks: false)
            if rules.isHead { stream.flags.insert(.isHead) }
            if rules.isConnect { stream.flags.insert(.isConnect) }
        } catch {
            if limits.checksSentFields { throw .malformed(error) }
        }
        if endStream { stream.flags.insert(.localEnded) }
        nextStream += 2
        flood.streamOpened()
        streams.append(id, stream)
        write(list, endStream: endStream, on: id)
        return id
    }

    /// Sends a response, an interim response, or trailers, which end the stream (RFC 9113, 8.1).
    package mutating func sendFields(_ list: FieldList, endStream: Bool, on id: StreamID) -> SendResult {
        guard state.canSend, let index = streams.index(of: id) else { return .closed }
        let flags = streams[index].flags
        guard !flags.contains(.localEnded) else { return .closed }
        // Before the final response a server sends interim ones, and after it trailers.
        let isResponse = role == .server && !flags.contains(.hasSentResponse)
        let status: Int
        do throws(Fault) {
            let rules = try MessageRules.check(list, as: isResponse ? .response : .trailers, allowsBlanks: false)
            status = rules.status
            guard endStream || isResponse else {
                throw MessageRules.malformed("RFC 9113, 8.1", "trailers do not end the stream")
            }
            guard !endStream || !isResponse || status >= 200 else {
                throw MessageRules.malformed("RFC 9113, 8.1", "an interim response ends the stream")
            }
            guard isResponse || flags.isDisjoint(with: [.isTunnel, .isConnect]) else {
                throw MessageRules.malformed("RFC 9113, 8.5", "HEADERS are for a tunnel")
            }
        } catch {
            return .malformed(error)
        }
        write(list, endStream: endStream, on: id)
        if endStream {
            localEnds(index, id)
        } else if status >= 200 {
            streams[index].flags.insert(.hasSentResponse)
            // RFC 9110, 9.3.6: only 2xx makes a tunnel.
            if status >= 300 { streams[index].flags.remove(.isTunnel) }
        }
        return .sent
    }

    private mutating func write(_ list: FieldList, endStream: Bool, on id: StreamID) {
        // A member's span cannot be read while another member changes.
        var block: [UInt8] = []
        swap(&block, &scratch)
        encoder.encode(list, to: &block)
        writer.fields(block.span, endStream: endStream, stream: id, maxFrameBytes: peerSettings.maxFrameBytes)
        block.removeAll(keepingCapacity: true)
        swap(&block, &scratch)
    }

    private mutating func localEnds(_ index: Int, _ id: StreamID) {
        streams[index].flags.insert(.localEnded)
        closeIfEnded(index, id)
    }

    /// Sends content, as far as both windows and the output allow (RFC 9113, 6.9.1).
    /// - Parameter endStream: whether the content ends with these bytes. The stream ends if all were taken.
    /// - Returns: how many bytes were taken. Pass the rest again after `windowUpdate` or `settings`, or when the output
    ///   was sent. nil if the stream is not open, our side has ended, or a server has not sent the final response (RFC
    ///   9113, 8.1).
    package mutating func sendData(_ content: Span<UInt8>, endStream: Bool, on id: StreamID) -> Int? {
        guard state.canSend, let index = streams.index(of: id) else { return nil }
        let flags = streams[index].flags
        guard !flags.contains(.localEnded), role == .client || flags.contains(.hasSentResponse) else { return nil }
        guard !content.isEmpty else {
            // RFC 9113, 6.9.1: an empty frame that ends the stream needs no window.
            if endStream {
                writer.data(content, endStream: true, stream: id)
                localEnds(index, id)
            }
            return 0
        }
        var sent = 0
        var window = Int(streams[index].sendWindow)  // fits: 32 bits
        while sent < content.count, writer.bytes.count < Self.maxOutputBytes {
            let count = min(content.count - sent, peerSettings.maxFrameBytes, window, sendWindow)
            guard count > 0 else { break }
            let isLast = endStream && sent + count == content.count
            writer.data(content.extracting(sent..<sent + count), endStream: isLast, stream: id)
            flood.dataSent()
            sent += count
            window -= count
            sendWindow -= count
        }
        streams[index].sendWindow = Int32(clamping: window)
        if endStream, sent == content.count { localEnds(index, id) }
        return sent
    }

    /// Resets a stream (RFC 9113, 6.4). `closed` follows with the next events.
    package mutating func reset(_ id: StreamID, _ code: ErrorCode) {
        guard state.canSend, streams.remove(id) != nil else { return }
        closedStreams.wasReset(id)
        writer.reset(id, code)
        enqueue(.closed(id, code, nil))
    }

    /// Stops opening the stream's window. The peer can send at most the window more.
    package mutating func pauseReading(_ id: StreamID) {
        guard let index = streams.index(of: id) else { return }
        streams[index].flags.insert(.isPaused)
    }

    /// Opens the stream's window again, also for what came meanwhile.
    package mutating func resumeReading(_ id: StreamID) {
        guard state.canSend, let index = streams.index(of: id) else { return }
        let size = local.inForce.streamWindowBytes
        let due = streams.update(at: index) { stream -> Int? in
            guard stream.flags.contains(.isPaused), !stream.flags.contains(.ignoresContent) else { return nil }
            stream.flags.remove(.isPaused)
            stream.receiveWindow.consume(Int(stream.unconsumed))  // fits: 32 bits
            stream.unconsumed = 0
            return stream.flags.contains(.remoteEnded) ? nil : stream.receiveWindow.increment(size: size)
        }
        if let due { writer.windowUpdate(id, by: due) }
    }

    /// The rest of the peer's content is not wanted (RFC 9113, 8.1). The stream's window stays closed, so the peer can send
    /// at most the window more, and its frames count as idle ones.
    package mutating func ignoreContent(_ id: StreamID) {
        guard let index = streams.index(of: id) else { return }
        streams[index].flags.insert(.ignoresContent)
    }

    // MARK: The connection

    /// Sends PING (RFC 9113, 6.7). `pingAcknowledged` follows.
    package mutating func ping(_ payload: UInt64) {
        guard state.canSend else { return }
        writer.ping(payload, isAcknowledgement: false)
        flood.pingSent()
    }

    /// Sends GOAWAY (RFC 9113, 6.8). Streams of the peer above `lastStream` are ignored from now on. The number never
    /// increases. A server that passes `StreamID.last` still accepts requests.
    package mutating func goAway(lastStream: StreamID, _ code: ErrorCode, debugData: [UInt8] = []) {
        guard state.canSend else { return }
        writeGoAway(lastStream: lastStream, code, debugData: debugData)
    }

    /// RFC 9113, 6.8: the number never increases.
    mutating func writeGoAway(lastStream: StreamID, _ code: ErrorCode, debugData: [UInt8]) {
        let last = min(lastStream, state.closing.sentGoAway ?? .last)
        state.close { $0.sentGoAway = last }
        writer.goAway(lastStream: last, code, debugData: debugData)
    }

    /// Server: changes how many streams the client may have open (RFC 9113, 5.1.2 and 6.5.2). Streams that it opened
    /// before it acknowledged a smaller number are served.
    /// - Returns: true if SETTINGS were written, so the caller has to flush.
    @discardableResult
    package mutating func announce(concurrentStreams: Int) -> Bool {
        guard state.canSend, role == .server else { return false }
        let streams = min(max(0, concurrentStreams), limits.maxConcurrentStreams)
        guard local.announce(concurrentStreams: streams) else { return false }
        sendConcurrentStreams()
        return true
    }

    /// Server: refuses the requests that come from now on, before GOAWAY is sent. They can be sent again elsewhere (RFC
    /// 9113, 8.7).
    package mutating func refuseStreams() { state.close { $0.refusesStreams = true } }

    /// Answers nothing more: what comes is only read to tell what is ignored. A connection error ends the reading, and
    /// not what waits to be sent.
    package mutating func stopAnswering() { state.stopAnswering() }

    mutating func sendConcurrentStreams() {
        guard let streams = local.announcedConcurrentStreams else { return }
        writer.settings([(.maxConcurrentStreams, UInt32(clamping: streams))])
    }
}
