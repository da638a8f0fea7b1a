import Notifications

/// What a TLS client says at the beginning, as far as it decides who answers: the name it asks for and the protocols it
/// offers (RFC 8446, 4.1.2).
struct ClientHello: Sendable, Hashable {
    /// In bytes, of a record's content (RFC 8446, 5.1).
    static let maximumBytes = 1 << 14
    /// In bytes, before a record's content.
    static let recordHeaderBytes = 5

    /// What server_name names (RFC 6066, 3); nil where it is not there.
    private(set) var serverName: String?
    /// What application_layer_protocol_negotiation offers (RFC 7301, 3.1).
    private(set) var protocols: [String] = []

    var offersHTTP2: Bool { protocols.contains("h2") }

    /// What became of reading one.
    enum Reading: Sendable, Hashable {
        /// More bytes are needed.
        case incomplete
        case hello(ClientHello)
        /// It is none, or one over several records, which no client sends: TLS will say what is wrong with it.
        case unreadable
    }

    /// Reads a connection's first bytes.
    static func read(_ bytes: Span<UInt8>) -> Reading {
        let handshake: UInt8 = 22
        guard bytes.count > 0 else { return .incomplete }
        guard bytes[0] == handshake else { return .unreadable }
        guard bytes.count >= recordHeaderBytes else { return .incomplete }
        let length = Int(bytes.bigEndian16(at: 3))
        guard length <= maximumBytes else { return .unreadable }
        guard bytes.count >= recordHeaderBytes + length else { return .incomplete }
        var reader = Reader(position: recordHeaderBytes, end: recordHeaderBytes + length)
        return ClientHello(bytes, &reader).map(Reading.hello) ?? .unreadable
    }

    /// Nil where the bytes are something else.
    private init?(_ bytes: Span<UInt8>, _ reader: inout Reader) {
        let clientHello: UInt8 = 1
        guard reader.byte(bytes) == clientHello, let length = reader.length24(bytes), length == reader.left,
            reader.skip(2 + 32),
            let session = reader.byte(bytes), reader.skip(Int(session)),
            let ciphers = reader.length16(bytes), reader.skip(ciphers),
            let compressions = reader.byte(bytes), reader.skip(Int(compressions))
        else { return nil }
        // TLS 1.2 allows to leave the extensions out (RFC 5246, 7.4.1.2).
        guard reader.left > 0 else { return }
        guard let extensions = reader.length16(bytes), extensions == reader.left else { return nil }
        while reader.left > 0 {
            guard let kind = reader.length16(bytes), let count = reader.length16(bytes), var part = reader.part(count)
            else { return nil }
            switch kind {
            case ExtensionKind.serverName: serverName = Self.serverName(bytes, &part)
            case ExtensionKind.protocols: protocols = Self.protocols(bytes, &part)
            default: break
            }
        }
    }

    private enum ExtensionKind {
        static let serverName = 0
        static let protocols = 16
    }

    private static func serverName(_ bytes: Span<UInt8>, _ reader: inout Reader) -> String? {
        let hostName: UInt8 = 0
        guard let count = reader.length16(bytes), count == reader.left, reader.byte(bytes) == hostName,
            let length = reader.length16(bytes), let name = reader.part(length)
        else { return nil }
        return bytes.extracting(name.position..<name.end).text
    }

    private static func protocols(_ bytes: Span<UInt8>, _ reader: inout Reader) -> [String] {
        guard let count = reader.length16(bytes), count == reader.left else { return [] }
        var protocols: [String] = []
        while let length = reader.byte(bytes), let name = reader.part(Int(length)) {
            protocols.append(bytes.extracting(name.position..<name.end).text)
        }
        return protocols
    }
}

extension ClientHello {
    /// A place in the bytes, and how far it may go.
    private struct Reader {
        var position: Int
        let end: Int

        var left: Int { end - position }

        mutating func skip(_ count: Int) -> Bool {
            guard count <= left else { return false }
            position += count
            return true
        }

        mutating func byte(_ bytes: Span<UInt8>) -> UInt8? {
            guard left >= 1 else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func length16(_ bytes: Span<UInt8>) -> Int? {
            guard left >= 2 else { return nil }
            defer { position += 2 }
            return Int(bytes.bigEndian16(at: position))
        }

        mutating func length24(_ bytes: Span<UInt8>) -> Int? {
            guard let high = byte(bytes), let low = length16(bytes) else { return nil }
            return Int(high) << 16 | low
        }

        /// The next so many bytes, which are passed over.
        mutating func part(_ count: Int) -> Reader? {
            let start = position
            return skip(count) ? Reader(position: start, end: position) : nil
        }
    }
}
