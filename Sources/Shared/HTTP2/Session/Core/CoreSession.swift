import HTTP2Core
import NIOCore

/// A session whose protocol is `HTTP2Core`: no system library, and no C. The endpoint returns events, and the session
/// moves its output to the channel.
final class CoreSession: HTTP2Session {
    var endpoint: HTTP2Endpoint
    /// The bodies with bytes that were not sent yet, in the order in which they get their turn.
    var unsentBodies: [OutboundBody] = []
    /// The number of frames that were submitted since the output was last taken.
    private var unsentFrames = 0
    /// The fields that are being submitted; kept for its memory.
    private var list = FieldList()
    /// Server, with `observesEncoding`: the requests that came too late.
    var unprocessed = UnprocessedStreams()

    override init(role: Role, configuration: HTTP2Configuration, application: any HTTP2Application) {
        endpoint = HTTP2Endpoint(role: role == .server ? .server : .client, limits: EndpointLimits(configuration))
        super.init(role: role, configuration: configuration, application: application)
        endpoint.tellsIgnored = role == .server && configuration.observesEncoding
    }

    // MARK: Beginning and end

    override func beginProtocol() -> Bool { true }

    override func endProtocol() {
        unsentBodies = []
        releaseProtocolMemory()
    }

    override func releaseProtocolMemory() {
        endpoint.releaseIdleMemory()
        if unsentBodies.isEmpty { unsentBodies = [] }
        list = FieldList()
    }

    // MARK: State

    override var hasQueuedFrames: Bool { !endpoint.output.isEmpty }
    override var queuedFrames: Int { unsentFrames }
    override var wantsToWrite: Bool { hasQueuedFrames }

    override var isProtocolFinished: Bool {
        guard endpoint.isFinished, !hasQueuedFrames, streams.isEmpty else { return false }
        // After the first GOAWAY of a drain, requests may still come (RFC 9113, 6.8).
        if case .began = drain { return hasReceivedGoAway }
        return true
    }

    override var peerSettings: PeerSettings {
        let settings = endpoint.peerSettings
        return PeerSettings(
            maxConcurrentStreams: settings.maxConcurrentStreams,
            maxHeaderListBytes: settings.maxHeaderListBytes,
            streamWindowBytes: settings.streamWindowBytes,
            maxFrameBytes: settings.maxFrameBytes
        )
    }

    override var peerMaxConcurrentStreams: Int { endpoint.peerSettings.maxConcurrentStreams ?? .max }
    override var hasUnacknowledgedSettings: Bool { endpoint.hasUnacknowledgedSettings }

    override var unfinishedFieldsSince: NIODeadline? { endpoint.fieldsBegan.map { .uptimeNanoseconds($0) } }

    override func announceStreams(_ number: Int) {
        endpoint.announce(concurrentStreams: number)
        scheduleFlush()
    }

    /// The endpoint refuses the others itself.
    override var admitsStream: Bool { true }
    override var allowsRequests: Bool { true }
    /// `submitRequest` throws if the stream numbers are used up.
    override var hasStreamNumbers: Bool { true }

    // MARK: Submitting

    override func submitRequest(
        _ headers: borrowing HeaderBlock, _ body: OutboundBody?
    ) throws(HTTP2Error) -> StreamID {
        headers.copy(to: &list, literals: configuration.literals)
        let stream: StreamID
        do throws(HTTP2Endpoint.OpenFailure) {
            stream = StreamID(try endpoint.open(list, endStream: body == nil))
        } catch {
            switch error {
            case .notActive: throw HTTP2Error(.notActive)
            case .goingAway: throw HTTP2Error(.goingAway)
            case .streamsUsedUp: throw HTTP2Error(.streamsUsedUp)
            case .tooManyStreams: throw HTTP2Error(.tooManyStreams)
            case .malformed(let fault): throw HTTP2Error(.library, detail: fault.description)
            }
        }
        unsentFrames += 1
        if let body {
            body.stream = stream
            begin(body)
        }
        return stream
    }

    override func submitResponse(
        _ stream: StreamID, _ headers: borrowing HeaderBlock, _ body: OutboundBody?
    ) -> Bool {
        headers.copy(to: &list, literals: configuration.literals)
        guard case .sent = endpoint.sendFields(list, endStream: body == nil, on: stream.ofCore) else { return false }
        unsentFrames += 1
        if let body {
            begin(body)
        } else if let index = streams.index(of: stream), !streams[index].flags.contains(.remoteEnded) {
            countEarlyAnswer(stream)
        }
        return true
    }

    private func begin(_ body: OutboundBody) {
        body.isDeferred = true
        if body.bytes > 0 || body.isFinished { resume(body) }
    }

    override func resume(_ body: OutboundBody) {
        guard body.isDeferred else { return }
        body.isDeferred = false
        hasNews = true
        unsentBodies.append(body)
    }

    override func submitReset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        endpoint.reset(stream.ofCore, code)
        unsentFrames += 1
        hasNews = true
    }

    override func submitPing(_ payload: UInt64) {
        endpoint.ping(payload)
        unsentFrames += 1
    }

    override func submitGoAway(_ last: StreamID, _ code: HTTP2ErrorCode, _ debugData: [UInt8]) {
        endpoint.goAway(lastStream: last.ofCore, code, debugData: debugData)
        unsentFrames += 1
    }

    override func submitShutdownNotice() {
        submitGoAway(.last, .noError, drain.debugData ?? [])
        isDrainPingDue = true
    }

    // MARK: Windows. The endpoint opens them itself.

    override func holdWindow(_ stream: StreamID) { endpoint.pauseReading(stream.ofCore) }

    override func openWindow(_ stream: StreamID, _ count: Int) {
        // The rest of these bodies is ignored, and their windows stay closed.
        guard let index = streams.index(of: stream),
            streams[index].flags.isDisjoint(with: [.reset, .answeredEarly, .bodyTooLarge])
        else { return }
        endpoint.resumeReading(stream.ofCore, consumed: count)
    }

    // MARK: Reading and writing

    override func read(_ buffer: ByteBuffer) { readWithEndpoint(buffer) }

    override func readWhileClosing(_ buffer: ByteBuffer) {
        guard isReadWhileClosing, !hasSkippedBytes, !isInProtocol else {
            hasSkippedBytes = true
            return
        }
        readWithEndpoint(buffer)
    }

    /// Whether the rest of what comes matters although the channel is being closed.
    var isReadWhileClosing: Bool { state == .closing && endpoint.tellsIgnored && hasSubmittedGoAway }

    override var unprocessedStreams: UnprocessedStreams { unprocessed }

    override func pump(_ context: ChannelHandlerContext) { pumpEndpoint(context) }

    /// Moves the endpoint's output to the session's. Returns whether there was any.
    func moveOutput() -> Bool {
        guard hasQueuedFrames else { return false }
        reserveOutput()
        output.writeBytes(endpoint.output)
        endpoint.outputTaken()
        unsentFrames = 0
        return true
    }
}
