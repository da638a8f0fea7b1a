package import NIOCore

extension String {
    /// The IP address that the text is, with this port; nil if the text is a name, or if the port is none. No other code
    /// reads the text of an address.
    package func socketAddress(port: Int = 0) -> SocketAddress? {
        // C, which reads the text, would stop at a zero byte, and take the beginning for an address.
        guard !utf8.contains(0), (0...65_535).contains(port) else { return nil }
        return try? SocketAddress(ipAddress: self, port: port)
    }

    /// Whether it is an IP address and not a name. TLS does not accept an address as a server name (RFC 6066, 3).
    package var isIPAddress: Bool { socketAddress() != nil }

    /// Whether it is an address that stands for all addresses of a machine, such as `0.0.0.0`, `::` or `0::0`: a server can
    /// listen on it, but no client can connect to it by this name.
    package var isEveryAddress: Bool { socketAddress()?.isEveryAddress ?? false }

    /// The host and the port of a text such as `127.0.0.1:2199`, `localhost:2199` or `[::1]:2199`, the host without its
    /// brackets. Nil if the text has another form. The port may be 0.
    package var hostAndPort: (host: String, port: Int)? {
        guard let colon = lastIndex(of: ":") else { return nil }
        let digits = self[index(after: colon)...]
        // `UInt16` alone would allow a sign.
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = self[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        // A bracket without its other half, a URL, or white space.
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > UInt8(ascii: " ") && !"[]/@".utf8.contains($0) }) else {
            return nil
        }
        return (String(host), Int(port))  // fits: 16 bits
    }
}

extension SocketAddress {
    /// Whether the address stands for all addresses of a machine.
    package var isEveryAddress: Bool { addressBytes?.allSatisfy { $0 == 0 } ?? false }
}
