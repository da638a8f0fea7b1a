import HTTP2Core

// The entries of the HTTP/2 core.
extension FuzzEntry {
    /// Reads a connection's bytes. The result must not depend on how they are split, and the endpoint must not keep
    /// more than its limits say. The first byte has the role, and says how to split the rest. The second one says what the
    /// endpoint itself does with each message.
    static func readHTTP2(_ bytes: [UInt8]) {
        guard bytes.count > 1 else { return }
        let (first, actions) = (bytes[0], HTTP2Reading.Actions(rawValue: bytes[1]))
        let stream = Array(bytes.dropFirst(2))
        let role: Role = first & 1 == 0 ? .server : .client
        let whole = HTTP2Reading(role, stream, length: max(1, stream.count), actions)
        let parts = HTTP2Reading(role, stream, length: Int(first >> 1) + 1, actions)
        precondition(whole.events == parts.events && whole.content == parts.content)
        precondition(whole.ignored == parts.ignored)
        precondition(whole.output == parts.output)
    }

    /// Reads field blocks, each with its length before it. What was decoded has to be the same after it was encoded and
    /// decoded again.
    static func readFieldBlocks(_ bytes: [UInt8]) {
        var endpoint = HTTP2Endpoint(role: .server)
        var position = 0
        var frames = HTTP2Reading.beginning
        var (offset, stream) = (0, UInt32(1))
        while offset < bytes.count, stream < 2_000 {
            let count = min(Int(bytes[offset]), bytes.count - offset - 1)
            let block = bytes[(offset + 1)..<(offset + 1 + count)]
            frames += [0, 0, UInt8(count), 1, 5, 0, 0, UInt8(stream >> 8), UInt8(stream & 0xff)] + block
            offset += 1 + count
            stream += 2
        }
        // A field that is the same as in the request before is not decoded again, which must make no difference.
        precondition(HTTP2Reading.requests(frames, forgets: false) == HTTP2Reading.requests(frames, forgets: true))
        var client = HTTP2Endpoint(role: .client)
        var server = HTTP2Endpoint(role: .server)
        while let event = endpoint.next(frames.span, at: &position, now: 0) {
            guard case .request = event, (try? client.open(endpoint.fields, endStream: true)) != nil else { continue }
            var (read, requests) = (0, 0)
            while let event = server.next(client.output.span, at: &read, now: 0) {
                guard case .request(let stream, _) = event else { continue }
                requests += 1
                precondition(HTTP2Reading.text(server.fields) == HTTP2Reading.text(endpoint.fields))
                server.reset(stream, .cancel)
            }
            precondition(requests == 1)
            client.outputTaken()
            read = 0
            while client.next(server.output.span, at: &read, now: 0) != nil {}
            server.outputTaken()
        }
    }
}

/// What an endpoint says to bytes that come in parts.
private struct HTTP2Reading {
    /// What the endpoint itself does when it gets a message, or a part of one.
    struct Actions: OptionSet {
        let rawValue: UInt8
        /// Answers each request.
        static let answer = Actions(rawValue: 1 << 0)
        /// The answer has content, as far as the windows allow, and trailers.
        static let content = Actions(rawValue: 1 << 1)
        /// Resets each second stream.
        static let reset = Actions(rawValue: 1 << 2)
        /// Does not open the windows of streams, until the peer sends PING.
        static let pause = Actions(rawValue: 1 << 3)
        /// Sends GOAWAY after the first message.
        static let goAway = Actions(rawValue: 1 << 4)
        /// Announces another number of streams with each message, and sends PING.
        static let announce = Actions(rawValue: 1 << 5)
        /// Opens further requests.
        static let open = Actions(rawValue: 1 << 6)
        /// Releases the memory that only reading needs, after each read.
        static let release = Actions(rawValue: 1 << 7)
    }

    static let beginning = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// The events without content.
    private(set) var events: [String] = []
    /// The content of all streams.
    private(set) var content: [UInt32: [UInt8]] = [:]
    /// The content that came for closed streams.
    private(set) var ignored: [UInt32: [UInt8]] = [:]
    private(set) var output: [UInt8] = []

    private let actions: Actions
    private var messages = 0
    /// The streams whose windows are not opened.
    private var paused: Set<UInt32> = []
    private let part = [UInt8](repeating: 0x61, count: 20_000)

    init(_ role: Role, _ bytes: [UInt8], length: Int, _ actions: Actions) {
        self.actions = actions
        var limits = EndpointLimits()
        // So small that the content of an input uses it up.
        if actions.contains(.pause) { limits.streamWindowBytes = 64 }
        var endpoint = HTTP2Endpoint(role: role, limits: limits)
        endpoint.tellsIgnored = !actions.contains(.release)
        if role == .client {
            for _ in 0..<3 { _ = try? endpoint.open(Self.request, endStream: false) }
        } else {
            read([Self.beginning[...]], &endpoint)
        }
        let parts = stride(from: 0, to: bytes.count, by: length).map { bytes[$0..<min($0 + length, bytes.count)] }
        read(parts, &endpoint)
        output += endpoint.output
        precondition(endpoint.openStreams <= EndpointLimits().maxConcurrentStreams)
    }

    private static let request = list([(":method", "POST"), (":scheme", "https"), (":path", "/")])
    private static let response = list([(":status", "200"), ("apns-id", "a")])
    private static let trailers = list([("a", "b")])

    private static func list(_ fields: [(StaticString, StaticString)]) -> FieldList {
        var list = FieldList()
        for (name, value) in fields { list.append(name, value) }
        return list
    }

    /// Does what `actions` say with a stream of which a message or the end has come.
    private mutating func act(on stream: StreamID, endStream: Bool, _ endpoint: inout HTTP2Endpoint) {
        messages += 1
        if actions.contains(.pause), !endStream, paused.insert(stream.rawValue).inserted {
            endpoint.pauseReading(stream)
            if messages.isMultiple(of: 3) { endpoint.ignoreContent(stream) }
        }
        if actions.contains(.reset), messages.isMultiple(of: 2) { endpoint.reset(stream, .cancel) }
        if actions.contains(.answer) {
            let hasContent = actions.contains(.content)
            _ = endpoint.sendFields(Self.response, endStream: !hasContent, on: stream)
            if hasContent {
                _ = endpoint.sendData(part.span, endStream: false, on: stream)
                if endStream { _ = endpoint.sendFields(Self.trailers, endStream: true, on: stream) }
            }
        } else if actions.contains(.content) {
            _ = endpoint.sendData(part.span, endStream: endStream, on: stream)
        }
        if actions.contains(.open) { _ = try? endpoint.open(Self.request, endStream: endStream) }
        if actions.contains(.announce) {
            endpoint.announce(concurrentStreams: messages % 5)
            endpoint.ping(UInt64(messages))
        }
        if actions.contains(.goAway), messages == 1 {
            // Some servers refuse what comes before they send GOAWAY.
            if actions.contains(.announce) {
                endpoint.refuseStreams()
            } else {
                endpoint.goAway(lastStream: stream, .noError)
            }
        }
        // The number of times that output is taken must not depend on how the bytes are split.
        if messages.isMultiple(of: 8) {
            output += endpoint.output
            endpoint.outputTaken()
        }
    }

    private mutating func read(_ parts: [ArraySlice<UInt8>], _ endpoint: inout HTTP2Endpoint) {
        for part in parts {
            let bytes = Array(part)
            var position = 0
            while let event = endpoint.next(bytes.span, at: &position, now: 0) {
                switch event {
                case .data(let stream, let range, let endStream):
                    content[stream.rawValue, default: []] += bytes[range]
                    guard endStream else { continue }
                    events.append("end \(stream)")
                    act(on: stream, endStream: true, &endpoint)
                case .request(let stream, let endStream), .response(let stream, let endStream):
                    events.append("\(event) \(Self.text(endpoint.fields))")
                    act(on: stream, endStream: endStream, &endpoint)
                case .ignoredData(let stream, let range, let endStream):
                    ignored[stream.rawValue, default: []] += bytes[range]
                    if endStream { events.append("ignored end \(stream)") }
                case .interimResponse, .trailers, .ignoredFields:
                    events.append("\(event) \(Self.text(endpoint.fields))")
                case .ping:
                    events.append("\(event)")
                    for stream in paused.sorted() { endpoint.resumeReading(StreamID(stream)) }
                    paused = []
                default:
                    events.append("\(event)")
                }
            }
            precondition(position == bytes.count)
            if actions.contains(.release) { endpoint.releaseIdleMemory() }
        }
    }

    /// What a server says to the frames.
    /// - Parameter forgets: whether it forgets the fields of each request.
    static func requests(_ frames: [UInt8], forgets: Bool) -> [String] {
        var endpoint = HTTP2Endpoint(role: .server)
        var position = 0
        var events: [String] = []
        while let event = endpoint.next(frames.span, at: &position, now: 0) {
            events.append("\(event) \(text(endpoint.fields))")
            if forgets { endpoint.releaseIdleMemory() }
        }
        return events
    }

    static func text(_ list: FieldList) -> [[UInt8]] {
        (0..<list.count).flatMap { [Array(list.bytes[list.name($0)]), Array(list.bytes[list.value($0)])] }
    }
}
