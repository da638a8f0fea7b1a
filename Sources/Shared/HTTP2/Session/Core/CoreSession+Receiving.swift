import HTTP2Core
import NIOCore

// Receiving: the endpoint returns one event after the other.
extension CoreSession {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    func readWithEndpoint(_ buffer: ByteBuffer) {
        runProtocol {
            buffer.withUnsafeReadableBytes { raw in
                let bytes = raw.bindMemory(to: UInt8.self)
                let now = readTime.uptimeNanoseconds
                endpoint.refusesStreams = refusesStreams
                var position = 0
                while state == .active || isReadWhileClosing, pendingTeardown == nil, floodKind == nil,
                    let event = endpoint.next(bytes.span, at: &position, now: now)
                {
                    guard state == .active else {
                        handleWhileClosing(event, bytes)
                        continue
                    }
                    hasNews = true
                    handle(event, bytes)
                }
                if position < bytes.count { hasSkippedBytes = true }
            }
        }
        guard state == .active else { return }
        // Answers and windows may have been queued without an event.
        if hasQueuedFrames { hasNews = true }
        guard let floodKind else { return }
        submitGoAway(lastProcessedStream, .enhanceYourCalm, [])
        endReading(.flood(floodKind))
    }

    /// Calls the application with the events that submitted frames have caused. Returns whether there were any.
    func handleQueuedEvents() -> Bool {
        var hasAny = false
        while state != .closed, pendingTeardown == nil, let event = endpoint.nextQueued() {
            hasAny = true
            handle(event, UnsafeBufferPointer(start: nil, count: 0))
        }
        return hasAny
    }

    private func handle(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        switch event {
        case .request(let stream, let endStream):
            request(StreamID(stream), endStream: endStream, isTooLarge: false)
        case .response(let stream, let endStream):
            response(StreamID(stream), endStream: endStream, isTooLarge: false)
        case .fieldsTooLarge(let stream, let endStream):
            switch role {
            case .server: request(StreamID(stream), endStream: endStream, isTooLarge: true)
            case .client: response(StreamID(stream), endStream: endStream, isTooLarge: true)
            }
        case .trailers(let stream):
            remoteEnded(StreamID(stream))
        case .data(let stream, let range, let endStream):
            let stream = StreamID(stream)
            if !range.isEmpty, let index = streams.index(of: stream) {
                // A flood is in `floodKind`.
                _ = bodyReceived(index, stream, bytes: UnsafeBufferPointer(rebasing: bytes[range]))
            }
            if endStream { remoteEnded(stream) }
        case .closed(let stream, let code, _):
            streamClosed(StreamID(stream), code)
        case .settings:
            settingsReceived()
        case .ping:
            pingReceived()
        case .pingAcknowledged(let payload):
            pingAcknowledged(payload)
        case .goAway(let last, let code, let debugData):
            debugData.withUnsafeBufferPointer {
                goAwayReceived(StreamID(last), code, debugData: $0)
            }
        case .windowUpdate:
            windowUpdateReceived()
        case .priority(let stream):
            priorityReceived(StreamID(stream))
        case .failed(let fault):
            failed(fault)
        case .refused(let stream, let endStream, let fault):
            refused(StreamID(stream), endStream: endStream, fault)
        case .ignoredFields, .ignoredData:
            handleIgnored(event, bytes)
        case .interimResponse, .settingsAcknowledged:
            break
        }
    }

    // MARK: Requests that are not processed

    /// The application only gets the ends of streams now.
    private func handleWhileClosing(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        if case .closed(let stream, let code, _) = event {
            streamClosed(StreamID(stream), code)
        } else {
            handleIgnored(event, bytes)
        }
    }

    /// Keeps what came too late to be processed. Other events are of no more use.
    private func handleIgnored(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        switch event {
        case .ignoredFields(let stream, let endStream):
            passedOver(StreamID(stream), endStream: endStream)
        case .ignoredData(let stream, let range, let endStream):
            let stream = StreamID(stream)
            guard unprocessed.keeps(stream) else { return }
            unprocessed.append(UnsafeBufferPointer(rebasing: bytes[range]), to: stream)
            if endStream { unprocessed.ended(stream) }
        default: break
        }
    }

    /// The fields of a request, or its trailers, which came too late to be processed.
    private func passedOver(_ stream: StreamID, endStream: Bool) {
        guard endpoint.tellsIgnored, refusesStreams, stream > lastProcessedStream else { return }
        unprocessed.began(stream)
        let fields = endpoint.fields
        for index in 0..<fields.count where fields.bytes[fields.name(index)].elementsEqual(":path".utf8) {
            unprocessed.setPath(Array(fields.bytes[fields.value(index)]), of: stream)
        }
        if endStream { unprocessed.ended(stream) }
    }

    /// A malformed request, whose stream was reset. The application learns that it came. It does not learn of a request
    /// beyond the number of streams that was announced.
    private func refused(_ stream: StreamID, endStream: Bool, _ fault: Fault) {
        if refusesStreams { return passedOver(stream, endStream: endStream) }
        guard fault.code != .refusedStream, case .admitted = requestBegan(stream) else { return }
        streamClosed(stream, fault.code)
    }

    private func request(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        // Trailers that are too large are dropped as others are.
        if streams.contains(stream) { return remoteEnded(stream) }
        guard case .admitted = requestBegan(stream) else { return passedOver(stream, endStream: endStream) }
        fieldsReceived(stream)
        fieldsEnded(stream, endStream: endStream, isTooLarge: isTooLarge)
        if endStream { remoteEnded(stream) }
    }

    private func response(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        guard let index = streams.index(of: stream), !streams[index].flags.contains(.reset) else { return }
        if streams[index].flags.contains(.responded) { return remoteEnded(stream) }
        responseBegan(stream)
        fieldsReceived(stream)
        fieldsEnded(stream, endStream: endStream, isTooLarge: isTooLarge)
        if endStream { remoteEnded(stream) }
    }

    /// Passes the fields on. It needs a copy of the list, because the application may submit frames during the calls.
    private func fieldsReceived(_ stream: StreamID) {
        let fields = endpoint.fields
        let observesEncoding = role == .server && configuration.observesEncoding
        fields.bytes.withUnsafeBufferPointer { bytes in
            for index in 0..<fields.count where state == .active {
                let name = UnsafeBufferPointer(rebasing: bytes[fields.name(index)])
                let value = UnsafeBufferPointer(rebasing: bytes[fields.value(index)])
                if observesEncoding {
                    let form = HeaderForm(fields.form(index))
                    callApplication { $0.headerEncoded(stream, name: name.span, as: form) }
                }
                callApplication { $0.headerReceived(stream, name: name.span, value: value.span) }
            }
        }
    }

    /// The connection has failed, and the endpoint has written GOAWAY.
    private func failed(_ fault: Fault) {
        let code = fault.code
        let isPreface = role == .server && !hasReceivedPreface && !Self.preface.starts(with: prefix)
        let reason: SessionEnd =
            if isPreface {
                PrefaceMismatch.of(prefix)
            } else if let kind = fault.flood.flatMap({ FloodGuard.Kind($0) }) {
                .flood(kind)
            } else {
                protocolError(code, fault.description)
            }
        endReading(reason)
    }
}
