import Notifications

/// Reads notifications from a stream of bytes, which arrives in fragments of any size.
///
/// If one fragment contains a whole notification, it is read without copying. Otherwise its beginning is kept, which
/// is at most a header and ``maximumFrameBytes``. After the first fault nothing more can be read, because it is
/// unknown where the next notification begins.
struct BinaryDecoder {
    /// The largest frame, in bytes: it contains all known items, with the longest payload that an item can have. So
    /// even a payload that is too long is read to its end, and the error packet can have its identifier. A longer
    /// frame is refused without reading it, because no valid notification needs it.
    static let maximumFrameBytes =
        (BinaryItems.headerBytes + DeviceToken.byteCount) + (BinaryItems.headerBytes + Int(UInt16.max))
        + 2 * (BinaryItems.headerBytes + 4) + (BinaryItems.headerBytes + 1)

    /// The size of the command and the length before a frame, in bytes.
    static let frameHeaderBytes = 5

    /// How much memory stays reserved between two notifications that arrive in fragments, in bytes.
    private static let keptCapacity = 4096

    private var partial: [UInt8] = []
    /// The length of device tokens that is accepted beside 32, the format's own (Guide, Table A-3). In bytes.
    private let tokenByteCount: Int

    /// - Parameter tokenByteCount: the length of the service's own device tokens.
    init(tokenByteCount: Int = DeviceToken.byteCount) { self.tokenByteCount = tokenByteCount }

    /// Whether the beginning of a notification was read, but not its end.
    var isPartial: Bool { !partial.isEmpty }

    /// Reads the next notification.
    /// - Parameter position: where to read on in `bytes`. It is moved to the end of the notification.
    /// - Returns: nil if the bytes contain no further whole notification.
    mutating func next(_ bytes: Span<UInt8>, _ position: inout Int) throws(BinaryFault) -> BinaryNotification? {
        guard isPartial else {
            let rest = bytes.extracting(droppingFirst: position)
            let size = try self.size(rest)
            guard size.isKnown, rest.count >= size.bytes else {
                partial.append(rest)
                position = bytes.count
                return nil
            }
            position += size.bytes
            return try read(rest.extracting(first: size.bytes))
        }
        while true {
            let size = try self.size(partial.span)
            let missing = size.bytes - partial.count
            guard missing > 0 else { return try readPartial() }
            let taken = min(missing, bytes.count - position)
            guard taken > 0 else { return nil }
            partial.append(bytes.extracting(position..<position + taken))
            position += taken
        }
    }

    private mutating func readPartial() throws(BinaryFault) -> BinaryNotification {
        let notification = try read(partial.span)
        if partial.capacity > Self.keptCapacity { partial = [] } else { partial.removeAll(keepingCapacity: true) }
        return notification
    }
}

// MARK: - Length

extension BinaryDecoder {
    private func isTokenLength(_ count: Int) -> Bool { count == DeviceToken.byteCount || count == tokenByteCount }
}

extension BinaryDecoder {
    /// The length of a notification, as far as the bytes read so far show it.
    private struct Size {
        /// The exact length if it is known; before that, a minimum.
        var bytes: Int
        var isKnown: Bool
    }

    private func size(_ bytes: Span<UInt8>) throws(BinaryFault) -> Size {
        guard bytes.count > 0 else { return Size(bytes: 1, isKnown: false) }
        guard let command = BinaryCommand(rawValue: bytes[0]) else { throw BinaryFault(status: .protocolError) }
        switch command {
        case .items: return try Self.sizeOfFrame(bytes)
        case .enhanced: return try sizeOfFields(bytes, command, from: OlderFormat.enhancedFields)
        case .legacy: return try sizeOfFields(bytes, command, from: OlderFormat.legacyFields)
        }
    }

    private static func sizeOfFrame(_ bytes: Span<UInt8>) throws(BinaryFault) -> Size {
        guard bytes.count >= frameHeaderBytes else { return Size(bytes: frameHeaderBytes, isKnown: false) }
        let length = bytes.bigEndian32(at: 1)
        guard length <= maximumFrameBytes else { throw BinaryFault(status: .protocolError, command: .items) }
        return Size(bytes: frameHeaderBytes + Int(length), isKnown: true)  // fits: 32 bits
    }

    /// Finds the size of a notification in an older format. An invalid length is reported as soon as it is read.
    /// - Parameter start: the offset of the device token's length.
    private func sizeOfFields(
        _ bytes: Span<UInt8>,
        _ command: BinaryCommand,
        from start: Int,
    ) throws(BinaryFault) -> Size {
        let identifier =
            command == .enhanced && bytes.count >= OlderFormat.enhancedFields ? bytes.bigEndian32(at: 1) : nil
        func fault(_ status: BinaryStatus) -> BinaryFault {
            BinaryFault(status: status, identifier: identifier, command: command)
        }
        guard bytes.count >= start + 2 else { return Size(bytes: start + 2, isKnown: false) }
        let tokenBytes = Int(bytes.bigEndian16(at: start))
        guard tokenBytes > 0 else { throw fault(.missingDeviceToken) }
        guard isTokenLength(tokenBytes) else { throw fault(.invalidTokenSize) }
        let payloadLength = start + 2 + tokenBytes
        guard bytes.count >= payloadLength + 2 else { return Size(bytes: payloadLength + 2, isKnown: false) }
        let payloadBytes = Int(bytes.bigEndian16(at: payloadLength))
        guard payloadBytes > 0 else { throw fault(.missingPayload) }
        guard payloadBytes <= command.maximumPayloadBytes else { throw fault(.invalidPayloadSize) }
        return Size(bytes: payloadLength + 2 + payloadBytes, isKnown: true)
    }
}

// MARK: - Fields

extension BinaryDecoder {
    /// The offsets of fields in the older formats (Guide, Figures B-1 and B-2).
    private enum OlderFormat {
        static let expiration = 5
        /// The length of the device token.
        static let enhancedFields = 9
        static let legacyFields = 1
    }

    /// Reads a whole notification. Its lengths were checked before.
    private func read(_ packet: Span<UInt8>) throws(BinaryFault) -> BinaryNotification {
        switch BinaryCommand(rawValue: packet[0]) {
        case .items:
            return try readFrame(packet.extracting(droppingFirst: Self.frameHeaderBytes))
        case .enhanced:
            let expiration = Expiration(seconds: UInt64(packet.bigEndian32(at: OlderFormat.expiration)))
            return try readFields(
                packet, .enhanced, identifier: packet.bigEndian32(at: 1), expiration, at: OlderFormat.enhancedFields)
        case .legacy:
            return try readFields(
                packet, .legacy, identifier: nil, .unspecified, at: OlderFormat.legacyFields)
        case nil:
            throw BinaryFault(status: .protocolError)
        }
    }

    private func readFields(
        _ packet: Span<UInt8>,
        _ command: BinaryCommand,
        identifier: UInt32?,
        _ expiration: Expiration,
        at start: Int,
    ) throws(BinaryFault) -> BinaryNotification {
        let token = (start + 2)..<(start + 2 + Int(packet.bigEndian16(at: start)))
        guard let deviceToken = packet.deviceToken(at: token) else {
            throw BinaryFault(status: .invalidTokenSize, identifier: identifier, command: command)
        }
        return BinaryNotification(
            command: command,
            identifier: identifier,
            expiration: expiration,
            deviceToken: deviceToken,
            payload: try Self.payload(
                packet.extracting(droppingFirst: token.upperBound + 2), command, identifier),
        )
    }

    private func readFrame(_ frame: Span<UInt8>) throws(BinaryFault) -> BinaryNotification {
        let items = BinaryItems(frame)
        func fault(_ status: BinaryStatus) -> BinaryFault {
            BinaryFault(status: status, identifier: items.identifier, command: .items)
        }
        guard !items.isMalformed else { throw fault(.protocolError) }
        guard let token = items.deviceToken, !token.isEmpty else {
            var missing = fault(.missingDeviceToken)
            missing.isProbe = items.deviceToken == nil && items.payload == nil && items.identifier != nil
            throw missing
        }
        guard isTokenLength(token.count), let deviceToken = frame.deviceToken(at: token) else {
            throw fault(.invalidTokenSize)
        }
        guard let payload = items.payload, !payload.isEmpty else { throw fault(.missingPayload) }
        guard payload.count <= BinaryCommand.items.maximumPayloadBytes else { throw fault(.invalidPayloadSize) }
        let priority = items.priority.map(Priority.init(rawValue:))
        if case .some(nil) = priority { throw fault(.protocolError) }
        return BinaryNotification(
            command: .items,
            identifier: items.identifier,
            expiration: items.expiration.map { Expiration(seconds: UInt64($0)) } ?? .unspecified,  // fits: 32 bits
            priority: priority ?? nil,
            deviceToken: deviceToken,
            payload: try Self.payload(frame.extracting(payload), .items, items.identifier),
        )
    }

    private static func payload(
        _ bytes: Span<UInt8>,
        _ command: BinaryCommand,
        _ identifier: UInt32?,
    ) throws(BinaryFault) -> Payload {
        do throws(PayloadError) {
            return try Payload(reading: bytes)
        } catch {
            throw BinaryFault(status: .protocolError, identifier: identifier, command: command)
        }
    }
}
