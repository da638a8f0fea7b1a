package import NIOCore

/// The parts of a TLS client's first message that decide which service answers: the server name and the offered
/// protocols (RFC 8446, 4.1.2).
package struct ClientHello: Sendable, Hashable {
    /// The largest size of a record's content, in bytes (RFC 8446, 5.1).
    private static let maximumBytes = 1 << 14

    /// The server name that the client asks for (RFC 6066, 3); nil if it names none.
    package private(set) var serverName: String?
    /// The protocols in application_layer_protocol_negotiation (RFC 7301, 3.1).
    package private(set) var protocols: [String] = []

    package var offersHTTP2: Bool { protocols.contains("h2") }

    /// Whether the client offers protocols, and HTTP/2 is not among them.
    package var offersOnlyOthers: Bool { !protocols.isEmpty && !offersHTTP2 }

    /// The result of reading one.
    package enum Reading: Sendable, Hashable {
        /// The bytes are only the beginning of a ClientHello.
        case incomplete
        case hello(ClientHello)
        /// The bytes are not a ClientHello, or it is divided into several records, which no real client does. TLS
        /// will report what is wrong.
        case unreadable
    }

    /// Reads a connection's first bytes.
    package static func read(_ bytes: ByteBuffer) -> Reading {
        let handshake: UInt8 = 22
        var bytes = bytes
        guard let kind = bytes.readInteger(as: UInt8.self) else { return .incomplete }
        guard kind == handshake else { return .unreadable }
        guard let (_, length) = bytes.readMultipleIntegers(as: (UInt16, UInt16).self) else { return .incomplete }
        guard length <= maximumBytes else { return .unreadable }
        guard var record = bytes.readSlice(length: Int(length)) else { return .incomplete }
        return ClientHello(&record).map(Reading.hello) ?? .unreadable
    }

    /// Reads a record's content; returns nil if it is not a ClientHello.
    private init?(_ record: inout ByteBuffer) {
        let clientHello: UInt8 = 1
        guard record.readInteger(as: UInt8.self) == clientHello,
            let high = record.readInteger(as: UInt8.self), let low = record.readInteger(as: UInt16.self),
            Int(high) << 16 | Int(low) == record.readableBytes,
            // Version and random.
            record.readSlice(length: 2 + 32) != nil,
            // Session, cipher suites, compression methods.
            record.readLengthPrefixedSlice(as: UInt8.self) != nil,
            record.readLengthPrefixedSlice(as: UInt16.self) != nil,
            record.readLengthPrefixedSlice(as: UInt8.self) != nil
        else { return nil }
        // In TLS 1.2 the extensions are optional (RFC 5246, 7.4.1.2).
        guard record.readableBytes > 0 else { return }
        guard var extensions = record.readLengthPrefixedSlice(as: UInt16.self), record.readableBytes == 0 else {
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
