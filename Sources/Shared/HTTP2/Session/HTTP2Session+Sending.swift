import CNghttp2
import NIOCore

// Sending: all frames of libnghttp2, in one write for each batch.
extension HTTP2Session {
    /// The number of bytes that are collected for one write. At 64 KiB NIO calls a channel not writable.
    private static let outputBytes = 65_536
    /// The initial capacity for a batch: an answer without a body has about 30 bytes.
    private static let firstOutputBytes = 512

    /// Sends the submitted frames. The session calls it at the end of each read, and otherwise in the event loop's next
    /// tick. A caller that has just submitted a batch may call it to save that tick.
    package func flush() {
        guard !isInLibrary, !isFlushing, !hasStartedClosing, let context else { return }
        guard state == .closing || state == .active && wantsToSend else { return }
        isFlushing = true
        if wantsToSend { pump(context) }
        writeOutput(context)
        isFlushing = false
        if state == .active { endIfDone(context) }
        if state == .closing { startClosing(context) }
    }

    /// Schedules `flush()`: at the end of the read, or in the event loop's next tick.
    func scheduleFlush() {
        hasNews = true
        guard !isReading, !isInLibrary, !isFlushing, !isFlushScheduled, let context else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushScheduled = false
            flush()
        }
    }

    /// Whether libnghttp2 may have frames to send, or may have finished. Most acknowledgements of a device need no
    /// answer, except a WINDOW_UPDATE now and then, which the library queues itself. Its own `want_write` reads eight
    /// queues of streams, which is slow with many sessions, because each of them waits for memory.
    private var wantsToSend: Bool {
        guard let library, !hasLibraryFailed else { return false }
        return hasNews || nghttp2_session_get_outbound_queue_size(library) > 0
    }

    private var hasFollowUps: Bool {
        !earlyResets.isEmpty || !writableStreams.isEmpty || isDrainPingDue || isGoAwayDue
    }

    /// Takes frames from libnghttp2 while the channel is writable. The rest stays in libnghttp2 and in the streams' own
    /// buffers, which are limited.
    private func pump(_ context: ChannelHandlerContext) {
        while isWritable {
            // Frames may be submitted while the library works, so the flag is cleared before.
            hasNews = false
            let moved = withLibrary { library in
                var bytes: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(library, &bytes)
                if count > 0, let bytes { addFrame(UnsafeRawBufferPointer(start: bytes, count: count)) }
                return count
            }
            guard let moved else { return }
            if moved < 0 { return failed(Int32(clamping: moved)) }
            let isFull = isOutputFull || output.readableBytes >= Self.outputBytes
            isOutputFull = false
            if isFull { writeOutput(context) }
            if moved == 0, !isFull, !submitFollowUps() { return }
        }
        hasNews = true
    }

    /// Adds a frame to the output, and changes it if libnghttp2 cannot write what we need.
    private func addFrame(_ bytes: UnsafeRawBufferPointer) {
        reserveOutput()
        guard let frame = OutgoingFrame(bytes) else {
            output.writeBytes(bytes)
            return
        }
        switch frame.type {
        case OutgoingFrame.settings where frame.flags & OutgoingFrame.acknowledgeFlag == 0:
            addSettings(frame)
        case OutgoingFrame.goAway:
            addGoAway(frame)
        case OutgoingFrame.headers where configuration.literals == .withoutIndexing:
            addHeaders(frame)
        case OutgoingFrame.headers where earlyAnswers > 0 && frame.flags & OutgoingFrame.endStreamFlag != 0:
            output.writeBytes(bytes)
            countEarlyAnswer(frame.stream)
        default:
            output.writeBytes(bytes)
        }
    }

    /// A client's request: literals that libnghttp2 wrote as never indexed become literals without indexing.
    private func addHeaders(_ frame: OutgoingFrame) {
        let start = output.writerIndex
        output.writeBytes(frame.bytes)
        frame.forEachNeverIndexedLiteral { offset, byte in
            output.setInteger(byte & ~OutgoingFrame.neverIndexedBit, at: start + offset)
        }
        let isAnswer = earlyAnswers > 0 && frame.flags & OutgoingFrame.endStreamFlag != 0
        if isAnswer { countEarlyAnswer(frame.stream) }
    }

    private func addSettings(_ frame: OutgoingFrame) {
        let start = output.writerIndex
        output.writeBytes(frame.bytes)
        guard let offset = frame.offset(ofSetting: OutgoingFrame.maxConcurrentStreams) else { return }
        output.setInteger(UInt32(clamping: concurrency.settingsSent()), at: start + offset)
    }

    private func addGoAway(_ frame: OutgoingFrame) {
        guard let said = frame.goAway else { return }
        if let debugData = drain.debugData, said.lastStream == .last, said.code == .noError, said.debugData.isEmpty {
            output.writeBytes(OutgoingFrame.goAway(lastStream: .last, code: .noError, debugData: debugData))
            // Send the PING now: if both were submitted together, libnghttp2 would send it before the notice.
            if case .began = drain { isDrainPingDue = true }
            return
        }
        output.writeBytes(frame.bytes)
        if queuedGoAways > 0 {
            queuedGoAways -= 1
        } else if said.code != .noError, end == nil {
            // libnghttp2 wrote this frame itself, because the peer violated the protocol. Its text is a constant of the
            // library.
            let isHTTP1 = !hasReceivedPreface && prefix.starts(with: "HTTP/".utf8)
            end = isHTTP1 ? .plainHTTP1 : .protocolError(said.code, String(decoding: said.debugData, as: UTF8.self))
        }
    }

    /// Adds a DATA frame of libnghttp2 to the output. libnghttp2 has made its head; we add the bytes.
    func sendData(flags: UInt8, head: UnsafeRawBufferPointer, count: Int, body: OutboundBody) -> Int32 {
        guard output.readableBytes < Self.outputBytes else {
            isOutputFull = true
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        // The bytes that `readBody` promised must still be there, or the frame would not match its head.
        guard count <= body.bytes else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
        reserveOutput()
        output.writeBytes(head)
        body.move(count, to: &output)
        bufferedBytes -= count
        flood.dataSent()
        if body.isAboveMark, body.bytes < configuration.streamLowMark {
            body.isAboveMark = false
            writableStreams.append(body.stream)
        }
        if earlyAnswers > 0, flags & OutgoingFrame.endStreamFlag != 0 { countEarlyAnswer(body.stream) }
        return 0
    }

    /// Called when a complete answer was sent. If its request has not ended, RST_STREAM may follow (RFC 9113, 8.1).
    private func countEarlyAnswer(_ stream: StreamID) {
        if configuration.resetsAfterEarlyAnswer { earlyResets.append(stream) }
    }

    /// Called when libnghttp2 has no more frames. Submits the frames that follow from those already sent. Returns
    /// whether libnghttp2 may have frames again.
    private func submitFollowUps() -> Bool {
        guard let library, hasFollowUps else { return false }
        if isDrainPingDue {
            isDrainPingDue = false
            submitPing(library, Drain.pingPayload)
        }
        if isGoAwayDue { endAnswering() }
        let answered = earlyResets
        earlyResets = []
        for stream in answered {
            guard let index = streams.index(of: stream), !streams[index].flags.contains(.remoteEnded) else { continue }
            reset(stream, .noError)
        }
        let writable = writableStreams
        writableStreams = []
        for stream in writable where state == .active && streams.contains(stream) { application?.writable(stream) }
        return true
    }

    // MARK: The channel

    private func reserveOutput() {
        if output.capacity == 0 { output = ByteBufferAllocator().buffer(capacity: Self.firstOutputBytes) }
    }

    private func writeOutput(_ context: ChannelHandlerContext) {
        guard output.readableBytes > 0 else { return }
        let batch = output
        // Do not keep the buffer for the next batch, so that an idle connection has no memory for output.
        output = ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(batch), promise: nil)
        if memory != nil { worked(context) }
    }

    /// Ends a session that has nothing left to do, or whose peer does not read.
    private func endIfDone(_ context: ChannelHandlerContext) {
        guard let library else { return }
        if nghttp2_session_want_read(library) == 0, nghttp2_session_want_write(library) == 0 {
            beginClosing(.drained)
        } else if nghttp2_session_get_outbound_queue_size(library) > configuration.maxQueuedFrames {
            state = .closing
            if end == nil { end = .peerDoesNotRead }
            hasStartedClosing = true
            context.close(promise: nil)
        }
    }

    /// Closes the channel after everything was written, or after a time limit.
    private func startClosing(_ context: ChannelHandlerContext) {
        guard !hasStartedClosing else { return }
        hasStartedClosing = true
        let written = context.eventLoop.makePromise(of: Void.self)
        let loop = context.eventLoop.assumeIsolated()
        let timeout = loop.scheduleTask(in: .seconds(configuration.closeTimeoutSeconds)) { [weak self] in
            self?.context?.close(promise: nil)
        }
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            timeout.cancel()
            self.context?.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }
}
