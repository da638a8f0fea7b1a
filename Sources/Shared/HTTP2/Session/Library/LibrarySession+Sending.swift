#if Service
    import CNghttp2
    import NIOCore

    // Sending: libnghttp2 returns one frame at a time.
    extension LibrarySession {
        /// Calls libnghttp2, and then does what had to wait for the end of the call.
        func withLibrary<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
            guard let library, !isInProtocol, !hasFailed else { return nil }
            return runProtocol { body(library) }
        }

        /// Takes frames from libnghttp2 while the channel is writable. The rest stays in libnghttp2 and in the streams' own
        /// buffers, which are limited.
        func pumpLibrary(_ context: ChannelHandlerContext) {
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
            if let debugData = drain.debugData, said.lastStream == .last, said.code == .noError, said.debugData.isEmpty
            {
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
                end = protocolError(said.code, String(decoding: said.debugData, as: UTF8.self))
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
            moveBody(body, count, isEnd: flags & OutgoingFrame.endStreamFlag != 0)
            return 0
        }
    }
#endif
