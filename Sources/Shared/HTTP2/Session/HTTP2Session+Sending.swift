import HTTP2Core
import NIOCore

// Sending: all submitted frames, in one write for each batch.
extension HTTP2Session {
    /// The number of bytes that are collected for one write. At 64 KiB NIO calls a channel not writable.
    package static let outputBytes = 65_536
    /// The initial capacity for a batch: an answer without a body has about 30 bytes.
    private static let firstOutputBytes = 512

    /// Sends the submitted frames. The session calls it at the end of each read, and otherwise in the event loop's next
    /// tick. A caller that has just submitted a batch may call it to save that tick.
    package func flush() {
        guard !isHandlingEvents, !isFlushing, !hasStartedClosing, let context else { return }
        guard state == .closing || state == .active && wantsToSend else { return }
        isFlushing = true
        if wantsToSend { pump(context) }
        writeOutput(context)
        isFlushing = false
        if state == .active { endIfDone(context) }
        if state == .closing { continueClosing(context) }
    }

    /// Schedules `flush()`: at the end of the read, or in the event loop's next tick.
    func scheduleFlush() {
        hasNews = true
        guard !isReading, !isHandlingEvents, !isFlushing, !isFlushScheduled, let context else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushScheduled = false
            flush()
        }
    }

    /// Whether there may be frames to send, or the protocol may have finished.
    private var wantsToSend: Bool { hasNews || hasQueuedFrames }

    /// Whether frames wait in the endpoint.
    var hasQueuedFrames: Bool { !endpoint.output.isEmpty }

    private var hasFollowUps: Bool {
        !earlyResets.isEmpty || readAnswers.isPingDue || !writableStreams.isEmpty || isDrainPingDue || isGoAwayDue
    }

    /// Moves frames to the channel while it is writable. Until then answers stay in the endpoint, and content in the
    /// streams' own buffers, which are limited.
    private func pump(_ context: ChannelHandlerContext) {
        while isWritable {
            // Frames may be submitted while the application is called, so the flag is cleared before.
            hasNews = false
            let hasHandled = handlingEvents { handleQueuedEvents() }
            guard state != .closed else { return }
            sendBodies()
            let hasMoved = moveOutput()
            if output.readableBytes >= Self.outputBytes { writeOutput(context) }
            if !hasMoved, !hasHandled, !submitFollowUps() { return }
        }
        hasNews = true
    }

    /// Moves the endpoint's output to the session's. Returns whether there was any.
    private func moveOutput() -> Bool {
        guard hasQueuedFrames else { return false }
        if output.capacity == 0 { output = ByteBufferAllocator().buffer(capacity: Self.firstOutputBytes) }
        output.writeBytes(endpoint.output)
        endpoint.outputTaken()
        unsentFrames = 0
        return true
    }

    // MARK: Bodies

    /// A body has more bytes, or is finished: it gets its turn.
    func enqueue(_ body: OutboundBody) {
        guard !body.isQueued else { return }
        body.isQueued = true
        hasNews = true
        unsentBodies.append(body)
    }

    /// Sends content as far as the windows and the output allow. The bodies that had no turn are first the next time.
    private func sendBodies() {
        guard !unsentBodies.isEmpty else { return }
        let bodies = unsentBodies
        unsentBodies = []
        var waiting: [OutboundBody] = []
        for (number, body) in bodies.enumerated() {
            guard endpoint.output.count < HTTP2Endpoint.maxOutputBytes else {
                unsentBodies.append(contentsOf: bodies[number...])
                break
            }
            if send(body) { waiting.append(body) }
        }
        unsentBodies.append(contentsOf: waiting)
    }

    /// Sends what can be sent of a body. Returns whether it has to wait.
    private func send(_ body: OutboundBody) -> Bool {
        let sent = body.buffer.withUnsafeReadableBytes { bytes in
            endpoint.sendData(
                bytes.bindMemory(to: UInt8.self).span, endStream: body.isFinished, on: body.stream)
        }
        // The stream has ended.
        guard let sent else { return false }
        body.drop(sent)
        let isEnd = body.isFinished && body.bytes == 0
        if sent > 0 || isEnd { bodyMoved(body, sent, isEnd: isEnd) }
        guard body.bytes == 0 else { return true }
        body.isQueued = false
        return false
    }

    /// Bytes of a body are in the endpoint's output.
    private func bodyMoved(_ body: OutboundBody, _ count: Int, isEnd: Bool) {
        bufferedBytes -= count
        if body.isAboveMark, body.bytes < configuration.streamLowMark {
            body.isAboveMark = false
            writableStreams.append(body.stream)
        }
        if earlyAnswers > 0, isEnd { countEarlyAnswer(body.stream) }
    }

    // MARK: What follows from what was sent

    /// Called when a complete answer was sent. If its request has not ended, RST_STREAM may follow (RFC 9113, 8.1).
    func countEarlyAnswer(_ stream: StreamID) {
        switch configuration.earlyReset {
        case .withAnswer: earlyResets.append(stream)
        case .onceRead: readAnswers.answerSent()
        }
    }

    /// Called when there are no more frames. Submits the frames that follow from those already sent. Returns whether
    /// there may be frames again.
    func submitFollowUps() -> Bool {
        guard state == .active || state == .closing, hasFollowUps else { return false }
        if isDrainPingDue {
            isDrainPingDue = false
            submitPing(Drain.pingPayload)
        }
        if readAnswers.isPingDue {
            let answered = streams.streams { $0.flags.contains(.answeredEarly) && $0.isAnswered }
            if readAnswers.ask(about: answered) { submitPing(ReadAnswers.pingPayload) }
        }
        // After the PING: clients with python-h2 refuse every frame that follows GOAWAY.
        if isGoAwayDue { endAnswering() }
        let answered = earlyResets
        earlyResets = []
        resetUnlessEnded(answered)
        let writable = writableStreams
        writableStreams = []
        for stream in writable where state == .active && streams.contains(stream) { application?.writable(stream) }
        return true
    }

    private func resetUnlessEnded(_ answered: [StreamID]) {
        for stream in answered {
            guard let index = streams.index(of: stream), !streams[index].flags.contains(.remoteEnded) else { continue }
            reset(stream, .noError)
        }
    }

    /// The peer has read the early answers before the PING. Resets their streams soon.
    func earlyAnswersRead() {
        guard readAnswers.acknowledged(), let context else { return }
        let delay = TimeAmount.milliseconds(configuration.earlyResetDelayMilliseconds)
        context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            resetUnlessEnded(readAnswers.timePassed())
            if readAnswers.isPingDue { scheduleFlush() }
        }
    }

    // MARK: The channel

    private func writeOutput(_ context: ChannelHandlerContext) {
        guard output.readableBytes > 0 else { return }
        var batch = output
        // Do not keep the buffer for the next batch, so that an idle connection has no memory for output.
        output = ByteBuffer()
        if writeBytes < Self.outputBytes {
            while batch.readableBytes > writeBytes, let piece = batch.readSlice(length: writeBytes) {
                context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
            }
        }
        context.writeAndFlush(wrapOutboundOut(batch), promise: nil)
        if releasesIdleMemory { worked(context) }
    }

    /// Whether nothing more will be read or sent (RFC 9113, 6.8).
    private var isFinished: Bool {
        guard endpoint.isFinished, !hasQueuedFrames, streams.isEmpty else { return false }
        // After the first GOAWAY of a drain, requests may still come.
        if case .began = drain { return hasReceivedGoAway }
        return true
    }

    /// Ends a session that has nothing left to do, or whose peer does not read.
    private func endIfDone(_ context: ChannelHandlerContext) {
        if isFinished {
            beginClosing(.drained)
        } else if unsentFrames > configuration.maxQueuedFrames {
            state = .closing
            if end == nil { end = .peerDoesNotRead }
            hasStartedClosing = true
            context.close(promise: nil)
        }
    }

    /// Closes the channel after everything was written, or after a time limit.
    private func continueClosing(_ context: ChannelHandlerContext) {
        guard !hasStartedClosing else { return }
        let loop = context.eventLoop.assumeIsolated()
        if closeTimeout == nil {
            closeTimeout = loop.scheduleTask(in: .seconds(configuration.closeTimeoutSeconds)) { [weak self] in
                self?.context?.close(promise: nil)
            }
        }
        // The channel takes the rest when it is writable again, which calls `flush()`.
        guard isWritable || !wantsToSend else { return }
        hasStartedClosing = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            closeTimeout?.cancel()
            self.context?.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }
}
