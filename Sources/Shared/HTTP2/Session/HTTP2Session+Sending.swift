import NIOCore

// Sending: all submitted frames, in one write for each batch.
extension HTTP2Session {
    /// The number of bytes that are collected for one write. At 64 KiB NIO calls a channel not writable.
    static let outputBytes = 65_536
    /// The initial capacity for a batch: an answer without a body has about 30 bytes.
    private static let firstOutputBytes = 512

    /// Sends the submitted frames. The session calls it at the end of each read, and otherwise in the event loop's next
    /// tick. A caller that has just submitted a batch may call it to save that tick.
    package func flush() {
        guard !isInProtocol, !isFlushing, !hasStartedClosing, let context else { return }
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
        guard !isReading, !isInProtocol, !isFlushing, !isFlushScheduled, let context else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushScheduled = false
            flush()
        }
    }

    /// Whether there may be frames to send, or the protocol may have finished.
    private var wantsToSend: Bool { !hasFailed && (hasNews || hasQueuedFrames) }

    private var hasFollowUps: Bool {
        !earlyResets.isEmpty || readAnswers.isPingDue || !writableStreams.isEmpty || isDrainPingDue || isGoAwayDue
    }

    /// Moves bytes of a body to the output, behind the head of their DATA frame.
    /// - Parameter isEnd: whether the frame ends the stream.
    func moveBody(_ body: OutboundBody, _ count: Int, isEnd: Bool) {
        body.move(count, to: &output)
        bodyMoved(body, count, isEnd: isEnd)
    }

    /// Bytes of a body are in the output.
    func bodyMoved(_ body: OutboundBody, _ count: Int, isEnd: Bool) {
        bufferedBytes -= count
        flood.dataSent()
        if body.isAboveMark, body.bytes < configuration.streamLowMark {
            body.isAboveMark = false
            writableStreams.append(body.stream)
        }
        if earlyAnswers > 0, isEnd { countEarlyAnswer(body.stream) }
    }

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
            if readAnswers.ask(about: answered) {
                flood.pingSent()
                submitPing(ReadAnswers.pingPayload)
            }
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

    func reserveOutput() {
        if output.capacity == 0 { output = ByteBufferAllocator().buffer(capacity: Self.firstOutputBytes) }
    }

    func writeOutput(_ context: ChannelHandlerContext) {
        guard output.readableBytes > 0 else { return }
        let batch = output
        // Do not keep the buffer for the next batch, so that an idle connection has no memory for output.
        output = ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(batch), promise: nil)
        if releasesIdleMemory { worked(context) }
    }

    /// Ends a session that has nothing left to do, or whose peer does not read.
    private func endIfDone(_ context: ChannelHandlerContext) {
        if isProtocolFinished {
            beginClosing(.drained)
        } else if queuedFrames > configuration.maxQueuedFrames {
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
