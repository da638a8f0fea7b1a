package import NIOCore

/// The header with which a load balancer begins a connection to say who the client is: version 1 (a line of text) or
/// version 2 (binary) of the PROXY protocol (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt).
package enum ProxyHeader {
    /// The result of reading the first bytes of a connection.
    package enum Reading: Hashable {
        case incomplete
        /// - Parameters:
        ///   - client: nil if the balancer speaks for itself (a health check) or does not know the client.
        ///   - length: the length of the header in bytes.
        case complete(client: SocketAddress?, length: Int)
        case invalid
    }

    /// The longest header of version 1, with its line end (2.1).
    private static let maximumLineBytes = 107
    /// The most bytes after the fixed part of version 2: the addresses and what a balancer adds to them (2.2.7), such as
    /// the name of the server. 65,535 would be allowed, from every connection at once.
    package static let maximumAdditionalBytes = 2048

    private static let lineStart = Array("PROXY ".utf8)
    private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
    private static let fixedBytes = 16

    package static func read(_ bytes: ByteBufferView) -> Reading {
        if starts(bytes, signature) { return readBinary(bytes) }
        if starts(bytes, lineStart) { return readLine(bytes) }
        return .invalid
    }

    /// Whether the bytes are the beginning of the mark, or begin with it.
    private static func starts(_ bytes: ByteBufferView, _ mark: [UInt8]) -> Bool {
        zip(bytes, mark).allSatisfy { $0 == $1 }
    }

    // MARK: Version 1

    private static func readLine(_ bytes: ByteBufferView) -> Reading {
        let start = bytes.prefix(maximumLineBytes)
        guard let end = start.firstIndex(of: UInt8(ascii: "\r")) else {
            return start.count < maximumLineBytes ? .incomplete : .invalid
        }
        guard start.index(after: end) < start.endIndex else {
            return start.count < maximumLineBytes ? .incomplete : .invalid
        }
        guard start[start.index(after: end)] == UInt8(ascii: "\n") else { return .invalid }
        let length = start.distance(from: start.startIndex, to: end) + 2
        let words = start[..<end].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if words.count >= 2, words[1] == "UNKNOWN" { return .complete(client: nil, length: length) }
        guard words.count == 6, let client = address(words[2], words[4], family: words[1]),
            address(words[3], words[5], family: words[1]) != nil
        else { return .invalid }
        return .complete(client: client, length: length)
    }

    private static func address(_ host: String, _ port: String, family: String) -> SocketAddress? {
        guard port.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(port),
            let address = host.socketAddress(port: Int(port))  // fits: 16 bits
        else { return nil }
        switch (family, address) {
        case ("TCP4", .v4), ("TCP6", .v6): return address
        default: return nil
        }
    }

    // MARK: Version 2

    private static func readBinary(_ bytes: ByteBufferView) -> Reading {
        let header = bytes.prefix(fixedBytes)
        guard header.count == fixedBytes else { return .incomplete }
        func byte(_ index: Int) -> UInt8 { bytes[bytes.index(bytes.startIndex, offsetBy: index)] }
        let rest = Int(byte(14)) << 8 | Int(byte(15))  // fits: a byte each
        // The upper half is the version, the lower one the command: 0 is LOCAL, 1 is PROXY.
        guard byte(12) >> 4 == 2, byte(12) & 0xf <= 1, rest <= maximumAdditionalBytes else { return .invalid }
        guard bytes.count >= fixedBytes + rest else { return .incomplete }
        let length = fixedBytes + rest
        guard byte(12) & 0xf == 1 else { return .complete(client: nil, length: length) }
        let addresses = Array(bytes.dropFirst(fixedBytes).prefix(rest))
        switch byte(13) {
        // TCP over IPv4: two addresses of 4 bytes, two ports.
        case 0x11: return client(addresses, addressBytes: 4, length: length)
        case 0x21: return client(addresses, addressBytes: 16, length: length)
        // The balancer gives no address, so the receiver has to use that of the connection.
        case 0x00: return .complete(client: nil, length: length)
        default: return .invalid
        }
    }

    private static func client(_ bytes: [UInt8], addressBytes: Int, length: Int) -> Reading {
        let port = addressBytes * 2
        guard bytes.count >= port + 4,
            let address = try? SocketAddress(
                packedIPAddress: ByteBuffer(bytes: bytes.prefix(addressBytes)),
                port: Int(bytes[port]) << 8 | Int(bytes[port + 1]))  // fits: a byte each
        else { return .invalid }
        return .complete(client: address, length: length)
    }
}
