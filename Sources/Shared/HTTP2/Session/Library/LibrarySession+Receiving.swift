#if Service
    import CNghttp2
    import NIOCore

    // Receiving: libnghttp2 gets the bytes and calls back. A callback returns 0, or an error that ends the session at once.
    extension LibrarySession {
        private static let go: Int32 = 0
        private static let giveUp = NGHTTP2_ERR_CALLBACK_FAILURE.rawValue

        /// The result of a callback: whether the session goes on.
        @inline(__always)
        private func result(_ goesOn: Bool) -> Int32 { goesOn ? Self.go : Self.giveUp }

        func readWithLibrary(_ buffer: ByteBuffer) {
            readEncodings(buffer)
            let result = withLibrary { library in
                buffer.withUnsafeReadableBytes { bytes in
                    nghttp2_session_mem_recv(library, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
                }
            }
            guard let result else { return }
            if result < 0 { failed(Int32(clamping: result)) } else { countIgnored(buffer.readableBytes) }
        }

        /// Reads what libnghttp2 does not report, if that is observed.
        func readEncodings(_ buffer: ByteBuffer) {
            guard let encodings else { return }
            if encodings.reader.lastProcessed == nil, refusesStreams {
                encodings.reader.lastProcessed = lastProcessedStream
            }
            buffer.withUnsafeReadableBytes { encodings.reader.read($0) }
        }

        /// Frames without a callback are counted by their bytes. While the session drains, requests that the client opened
        /// before it knew are ignored, as they should be.
        private func countIgnored(_ received: Int) {
            let bytes = ignored.received(received)
            guard bytes > 0, state == .active, !isDraining else { return }
            guard !flood.admit(ignoredBytes: bytes, at: readTime) else { return }
            floodKind = .ignoredBytes
            failed(Self.giveUp)
        }

        /// libnghttp2 failed, and its session can no longer be used. A last GOAWAY is written without it.
        func failed(_ result: Int32) {
            hasFailed = true
            let (reason, code): (SessionEnd, HTTP2ErrorCode) =
                switch result {
                case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: (PrefaceMismatch.of(prefix), .protocolError)
                case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: (.flood(.continuations), .enhanceYourCalm)
                case NGHTTP2_ERR_FLOODED.rawValue: (.flood(.acknowledgements), .enhanceYourCalm)
                case NGHTTP2_ERR_CALLBACK_FAILURE.rawValue:
                    floodKind.map { (.flood($0), .enhanceYourCalm) } ?? (
                        .protocolError(.internalError, ""), .internalError
                    )
                default: (.protocolError(.internalError, String(cString: nghttp2_strerror(result))), .internalError)
                }
            // A peer that does not speak HTTP/2 would not understand GOAWAY (RFC 9113, 3.4, allows to omit it).
            if result != NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue {
                let frame = OutgoingFrame.goAway(lastStream: lastProcessedStream, code: code, debugData: [])
                output.writeBytes(frame)
            }
            endReading(reason)
        }

        // MARK: Frames

        func frameBegan(_ head: nghttp2_frame_hd) -> Int32 {
            ignored.frameReported(payloadBytes: head.length)
            switch UInt32(head.type) {
            case NGHTTP2_DATA.rawValue:
                let isIdle = head.length == 0 && head.flags & OutgoingFrame.endStreamFlag == 0
                return isIdle ? result(count(.idleFrames)) : Self.go
            case NGHTTP2_HEADERS.rawValue:
                // A request allows further frames. Trailers and header blocks of closed streams do not.
                return role == .server ? result(count(.idleFrames)) : Self.go
            case NGHTTP2_RST_STREAM.rawValue:
                // A reset of a stream that was answered throws no work away. libcurl sends one after each answer without a
                // body.
                return result(count(streams.index(of: StreamID(head.stream_id)) == nil ? .idleFrames : .resets))
            case NGHTTP2_SETTINGS.rawValue: return result(count(.settings))
            case NGHTTP2_PING.rawValue: return result(count(.pings))
            case NGHTTP2_PRIORITY.rawValue:
                priorityReceived(StreamID(head.stream_id))
                return result(count(.idleFrames))
            case NGHTTP2_WINDOW_UPDATE.rawValue:
                windowUpdateReceived()
                return result(count(.idleFrames))
            default: return result(count(.idleFrames))
            }
        }

        func invalidFrameReceived() -> Int32 { result(count(.resets)) }

        func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
            let head = LibraryCallbacks.head(of: frame)
            let isEnd = head.flags & OutgoingFrame.endStreamFlag != 0
            // Do this only at the frame's end, because the rest of a frame may come with a later read.
            if isEnd || UInt32(head.type) != NGHTTP2_DATA.rawValue { hasNews = true }
            switch UInt32(head.type) {
            case NGHTTP2_DATA.rawValue:
                if isEnd {
                    remoteEnded(StreamID(head.stream_id))
                    break
                }
                // Padding alone is as idle as an empty frame (CVE-2019-9518). The length of the padding is known only here.
                let data = UnsafeRawPointer(frame).assumingMemoryBound(to: nghttp2_data.self)
                if data.pointee.padlen > 0, data.pointee.padlen == head.length { return result(count(.idleFrames)) }
            case NGHTTP2_HEADERS.rawValue:
                headersEnded(StreamID(head.stream_id), endStream: isEnd)
            case NGHTTP2_SETTINGS.rawValue:
                if head.flags & OutgoingFrame.acknowledgeFlag == 0 {
                    settingsReceived()
                } else if concurrency.settingsAcknowledged() {
                    submitConcurrentStreams()
                }
            case NGHTTP2_PING.rawValue where head.flags & OutgoingFrame.acknowledgeFlag != 0:
                let payload = withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
                pingAcknowledged(UInt64(bigEndian: payload))
            case NGHTTP2_PING.rawValue:
                pingReceived()
            case NGHTTP2_GOAWAY.rawValue:
                let goAway = frame.pointee.goaway
                goAwayReceived(
                    StreamID(goAway.last_stream_id), HTTP2ErrorCode(goAway.error_code),
                    debugData: UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len))
            default:
                break
            }
            return Self.go
        }

        // MARK: Headers

        func headersBegan(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
            let head = LibraryCallbacks.head(of: frame)
            guard UInt32(head.type) == NGHTTP2_HEADERS.rawValue else { return Self.go }
            block = IncomingBlock()
            let stream = StreamID(head.stream_id)
            guard state == .active else { return Self.go }
            switch role {
            case .server:
                // Any other category is trailers.
                let category = UnsafeRawPointer(frame).assumingMemoryBound(to: nghttp2_headers.self).pointee.cat
                return category == NGHTTP2_HCAT_REQUEST ? beginRequest(stream) : Self.go
            case .client:
                if let index = streams.index(of: stream), streams[index].flags.isDisjoint(with: [.responded, .reset]) {
                    block.kind = .undecided
                }
                return Self.go
            }
        }

        private func beginRequest(_ stream: StreamID) -> Int32 {
            switch requestBegan(stream) {
            case .admitted: block.kind = .delivered
            case .refused: break
            case .flood: return Self.giveUp
            }
            return Self.go
        }

        func headerReceived(
            _ stream: StreamID, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
        )
            -> Int32
        {
            let form = encodings?.reader.next(of: stream)
            // This cannot overflow within one block: a frame's length has 24 bits, and each byte stands for at most 4 KiB
            // of the table.
            block.listBytes += name.count + value.count + IncomingBlock.bytesPerField
            guard block.listBytes <= configuration.maxHeaderListBytes else {
                block.isTooLarge = true
                let bomb = configuration.maxHeaderListBytes.multipliedReportingOverflow(
                    by: configuration.headerBombFactor)
                return !bomb.overflow && block.listBytes > bomb.partialValue ? result(isFlood(.headers)) : Self.go
            }
            guard state == .active else { return Self.go }
            switch block.kind {
            case .delivered: break
            case .skipped: return Self.go
            case .undecided:
                // `:status` is the only pseudo-header field of a response, so it comes first.
                if value.first == UInt8(ascii: "1") {
                    block.kind = .skipped
                    return Self.go
                }
                block.kind = .delivered
                responseBegan(stream)
            }
            if let form { callApplication { $0.headerEncoded(stream, name: name.span, as: form) } }
            callApplication { $0.headerReceived(stream, name: name.span, value: value.span) }
            return Self.go
        }

        private func headersEnded(_ stream: StreamID, endStream: Bool) {
            if block.kind == .delivered { fieldsEnded(stream, endStream: endStream, isTooLarge: block.isTooLarge) }
            block = IncomingBlock()
            if endStream { remoteEnded(stream) }
        }

        // MARK: Bodies

        func dataReceived(_ stream: StreamID, bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
            guard let index = streams.index(of: stream), state == .active else {
                // The stream was refused or is being closed, but its bytes still count for the connection's window.
                nghttp2_session_consume(library, stream.rawValue, bytes.count)
                return state == .active ? result(count(.idleFrames)) : Self.go
            }
            return result(bodyReceived(index, stream, bytes: bytes))
        }
    }
#endif
