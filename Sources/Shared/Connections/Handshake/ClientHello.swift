package import NIOCore

/// The parts of a TLS client's first message that decide which service answers: the server name and the offered
/// protocols (RFC 8446, 4.1.2).
package struct ClientHello: Sendable, Hashable {
    /// The largest size of a record's content and of the message, in bytes (RFC 8446, 5.1). BoringSSL refuses a longer
    /// message too.
    private static let maximumBytes = 1 << 14

    /// The server name that the client asks for (RFC 6066, 3); nil if it names none.
    package private(set) var serverName: String?
    /// The protocols in application_layer_protocol_negotiation (RFC 7301, 3.1).
    package private(set) var protocols: [String] = []

    package var offersHTTP2: Bool { protocols.contains("h2") }

    /// Whether a server with these protocols has to refuse the client (RFC 7301, 3.2). A client that offers none is
    /// welcome.
    func offersOthers(than own: [String]) -> Bool { !protocols.isEmpty && !protocols.contains(where: own.contains) }

    /// Whether the client offers protocols, and HTTP/2 is not among them.
    package var offersOnlyOthers: Bool { offersOthers(than: ["h2"]) }

    /// The result of reading one.
    package enum Reading: Sendable, Hashable {
        /// The bytes are only the beginning of a ClientHello.
        case incomplete
        case hello(ClientHello)
        /// The bytes are not a ClientHello. TLS will report what is wrong.
        case unreadable
    }

    /// Reads a connection's first bytes.
    package static func read(_ bytes: ByteBuffer) -> Reading {
        var reader = Reader()
        return reader.read(bytes)
    }

    /// Reads a connection's first bytes while they arrive. The message may be divided into several records: no client does
    /// so, but someone in between could, to hide from this listener which protocols a client offers.
    struct Reader {
        /// Where the next record begins.
        private var next = 0
        private var message = ByteBuffer()

        /// - Parameter bytes: all bytes from the connection's beginning.
        mutating func read(_ bytes: ByteBuffer) -> Reading {
            let (handshake, headerBytes): (UInt8, Int) = (22, 5)
            while true {
                let start = bytes.readerIndex + next
                guard let kind: UInt8 = bytes.getInteger(at: start) else { return .incomplete }
                guard kind == handshake else { return .unreadable }
                guard let length: UInt16 = bytes.getInteger(at: start + 3) else { return .incomplete }
                // fits: 16 bits
                guard length > 0, message.readableBytes + Int(length) <= ClientHello.maximumBytes else {
                    return .unreadable
                }
                guard var record = bytes.getSlice(at: start + headerBytes, length: Int(length)) else {  // fits: 16 bits
                    return .incomplete
                }
                next += headerBytes + Int(length)  // fits: 16 bits
                message.writeBuffer(&record)
                if let reading = ClientHello.readMessage(message) { return reading }
            }
        }
    }

    /// - Returns: nil if the bytes are only the beginning of a ClientHello.
    private static func readMessage(_ message: ByteBuffer) -> Reading? {
        var message = message
        let (clientHello, headerBytes): (UInt8, Int) = (1, 4)
        guard message.getInteger(at: message.readerIndex) == clientHello else { return .unreadable }
        guard let header: UInt32 = message.getInteger(at: message.readerIndex) else { return nil }
        let length = Int(header & 0xff_ffff)  // fits: 24 bits
        guard headerBytes + length <= maximumBytes else { return .unreadable }  // fits: 24 bits
        guard headerBytes + length <= message.readableBytes else { return nil }  // fits: 24 bits
        // No other message may follow in the same record.
        guard headerBytes + length == message.readableBytes else { return .unreadable }  // fits: 24 bits
        message.moveReaderIndex(forwardBy: headerBytes)
        return ClientHello(&message).map(Reading.hello) ?? .unreadable
    }

    /// Reads a message behind its length; returns nil if it is not a ClientHello.
    private init?(_ message: inout ByteBuffer) {
        // Version and random.
        guard message.readSlice(length: 2 + 32) != nil,
            // Session, cipher suites, compression methods.
            message.readLengthPrefixedSlice(as: UInt8.self) != nil,
            message.readLengthPrefixedSlice(as: UInt16.self) != nil,
            message.readLengthPrefixedSlice(as: UInt8.self) != nil
        else { return nil }
        // In TLS 1.2 the extensions are optional (RFC 5246, 7.4.1.2).
        guard message.readableBytes > 0 else { return }
        guard var extensions = message.readLengthPrefixedSlice(as: UInt16.self), message.readableBytes == 0 else {
            return nil
        }
        while extensions.readableBytes > 0 {
            guard let kind = extensions.readInteger(as: UInt16.self),
                var content = extensions.readLengthPrefixedSlice(as: UInt16.self)
            else { return nil }
            switch kind {
            case ExtensionKind.serverName: serverName = Self.serverName(&content)
            case ExtensionKind.protocols: protocols = Self.protocols(&content)
            default: break
            }
        }
    }

    private enum ExtensionKind {
        static let serverName: UInt16 = 0
        static let protocols: UInt16 = 16
    }

    private static func serverName(_ content: inout ByteBuffer) -> String? {
        let hostName: UInt8 = 0
        guard var list = content.readLengthPrefixedSlice(as: UInt16.self), content.readableBytes == 0,
            list.readInteger(as: UInt8.self) == hostName
        else { return nil }
        return list.readLengthPrefixedSlice(as: UInt16.self).map { String(buffer: $0) }
    }

    private static func protocols(_ content: inout ByteBuffer) -> [String] {
        guard var list = content.readLengthPrefixedSlice(as: UInt16.self), content.readableBytes == 0 else { return [] }
        var protocols: [String] = []
        while let name = list.readLengthPrefixedSlice(as: UInt8.self) { protocols.append(String(buffer: name)) }
        return protocols
    }
}
