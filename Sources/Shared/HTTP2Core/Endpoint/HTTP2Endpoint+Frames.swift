// The frames for a stream's end, for windows and for the connection (RFC 9113, 6.3 to 6.9).
extension HTTP2Endpoint {
    /// RFC 9113, 6.3 and 5.3.2: PRIORITY is read and has no effect.
    mutating func handlePriority(_ head: FrameHead, _ now: UInt64) throws(Fault) -> Event? {
        try flood.countIdleFrame(at: now)
        guard head.length != 5 else { return .priority(head.stream) }
        let fault = Fault(.frameSizeError, "RFC 9113, 6.3", "PRIORITY does not have 5 bytes")
        // Only an open stream can be reset: RST_STREAM must not be sent for an idle one (6.4).
        guard streams.contains(head.stream) else { throw fault }
        try streamError(head.stream, fault, now)
        return nil
    }

    /// RFC 9113, 6.4.
    mutating func handleReset(_ stream: StreamID, _ code: ErrorCode, _ now: UInt64) throws(Fault) -> Event? {
        switch place(of: stream) {
        case .idle:
            throw Fault(.protocolError, "RFC 9113, 6.4", "RST_STREAM came for an idle stream")
        case .closed:
            try flood.countIdleFrame(at: now)
            return nil
        case .open:
            try flood.countReset(at: now)
            streams.remove(stream)
            return .closed(stream, code, nil)
        }
    }

    // MARK: SETTINGS

    /// RFC 9113, 6.5.
    mutating func handleSettings(_ head: FrameHead, _ payload: Span<UInt8>, _ now: UInt64) throws(Fault) -> Event? {
        try flood.countSettings(at: now)
        if head.has(FrameFlag.acknowledge) { return try settingsAcknowledged() }
        var offset = 0
        // RFC 9113, 6.5.3: in the order in which they appear.
        while offset < payload.count {
            let setting = Setting(rawValue: payload.uint16(at: offset))
            try apply(setting, payload.uint32(at: offset + 2))
            offset += Setting.byteCount
        }
        state.settingsReceived()
        try answer { $0.settingsAcknowledgement() }
        return .settings
    }

    private mutating func apply(_ setting: Setting, _ value: UInt32) throws(Fault) {
        let previous = peerSettings
        try peerSettings.apply(setting, value, from: role.peer)
        if setting == .headerTableSize { encoder.setPeerLimit(peerSettings.headerTableBytes) }
        let difference = peerSettings.streamWindowBytes - previous.streamWindowBytes
        guard difference != 0 else { return }
        // RFC 9113, 6.9.2: the windows of all streams change, and may become negative.
        let isGood = streams.updateAll { stream in
            let window = Int(stream.sendWindow) + difference  // fits: 32 bits each
            stream.sendWindow = Int32(clamping: window)
            return window <= Window.maximum
        }
        guard isGood else {
            throw Fault(
                .flowControlError, "RFC 9113, 6.9.2", "SETTINGS_INITIAL_WINDOW_SIZE makes a window exceed 2^31-1")
        }
    }

    /// RFC 9113, 6.5.3: our oldest SETTINGS are in force.
    private mutating func settingsAcknowledged() throws(Fault) -> Event? {
        guard let (previous, sendsNow) = local.acknowledged() else {
            throw Fault(.protocolError, "RFC 9113, 6.5.3", "SETTINGS are acknowledged that were not sent")
        }
        decoder.setLimit(local.headerTableBytes)
        let difference = local.inForce.streamWindowBytes - previous.streamWindowBytes
        if difference != 0 {
            _ = streams.updateAll { stream in
                stream.receiveWindow.adjust(by: difference)
                return true
            }
        }
        if sendsNow { sendConcurrentStreams() }
        return .settingsAcknowledged
    }

    // MARK: PING and GOAWAY

    /// RFC 9113, 6.7.
    mutating func handlePing(_ head: FrameHead, _ payload: UInt64, _ now: UInt64) throws(Fault) -> Event? {
        try flood.countPing(at: now)
        guard !head.has(FrameFlag.acknowledge) else { return .pingAcknowledged(payload) }
        try answer { $0.ping(payload, isAcknowledgement: true) }
        return .ping(payload)
    }

    /// RFC 9113, 6.8.
    mutating func handleGoAway(_ payload: Span<UInt8>, _ now: UInt64) throws(Fault) -> Event? {
        try flood.countIdleFrame(at: now)
        let last = StreamID(payload.uint32(at: 0) & StreamID.last.rawValue)
        guard last <= state.closing.receivedGoAway ?? .last else {
            throw Fault(.protocolError, "RFC 9113, 6.8", "the last stream of GOAWAY increases")
        }
        state.close { $0.receivedGoAway = last }
        if role == .client {
            // RFC 9113, 6.8 and 8.7: these were not processed.
            for stream in streams.streams(where: { $0.id > last }) {
                streams.remove(stream)
                // A server that has begun to answer sees no reset of ours.
                closedStreams.wasReset(stream)
                enqueue(.closed(stream, .refusedStream, nil))
            }
        }
        var debugData: [UInt8] = []
        debugData.append(copying: payload.extracting(8..<payload.count))
        return .goAway(lastStream: last, ErrorCode(payload.uint32(at: 4)), debugData: debugData)
    }

    // MARK: WINDOW_UPDATE

    /// RFC 9113, 6.9 and 6.9.1.
    mutating func handleWindowUpdate(
        _ stream: StreamID, _ value: UInt32, _ now: UInt64
    ) throws(Fault) -> Event? {
        try flood.countIdleFrame(at: now)
        let increment = Int(value & StreamID.last.rawValue)  // fits: 31 bits
        guard stream != .connection else {
            guard increment > 0 else { throw Self.noIncrement }
            guard sendWindow + increment <= Window.maximum else { throw Self.windowTooLarge }  // fits: 31 bits each
            sendWindow += increment
            return .windowUpdate(stream)
        }
        switch place(of: stream) {
        case .idle:
            throw Fault(.protocolError, "RFC 9113, 5.1", "WINDOW_UPDATE came for an idle stream")
        case .closed:
            // RFC 9113, 6.9: not an error.
            return nil
        case .open(let index):
            guard increment > 0 else {
                try streamError(stream, Self.noIncrement, now)
                return nil
            }
            let isGood = streams.update(at: index) { stream in
                let window = Int(stream.sendWindow) + increment  // fits: 32 bits each
                stream.sendWindow = Int32(clamping: window)
                return window <= Window.maximum
            }
            guard isGood else {
                try streamError(stream, Self.windowTooLarge, now)
                return nil
            }
            return .windowUpdate(stream)
        }
    }

    private static var noIncrement: Fault {
        Fault(.protocolError, "RFC 9113, 6.9", "the increment of WINDOW_UPDATE is 0")
    }

    private static var windowTooLarge: Fault {
        Fault(.flowControlError, "RFC 9113, 6.9.1", "WINDOW_UPDATE makes a window exceed 2^31-1")
    }
}
