package import NIOCore

extension SocketAddress {
    /// Whether the address reaches this machine only: 127.0.0.0/8, also mapped to IPv6 (RFC 4291, 2.5.5.2), `::1`, or a
    /// Unix socket.
    package var isLoopback: Bool {
        guard let bytes = addressBytes else { return true }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}

extension String {
    /// Whether this host, of a URL or to listen on, reaches this machine only. It is `localhost` or an address. Any
    /// other name may lead anywhere, also one that begins with `127.`. An IPv6 address may have brackets.
    package var isLoopbackHost: Bool {
        if lowercased() == "localhost" { return true }
        let isBracketed = hasPrefix("[") && hasSuffix("]")
        // A text that cannot be read as an address is a name.
        guard let address = (isBracketed ? String(dropFirst().dropLast()) : self).socketAddress() else { return false }
        if isBracketed, case .v4 = address { return false }
        return address.isLoopback
    }

    /// Whether this host of a URL is a literal that may lead to this machine, however it is written. ``isLoopbackHost`` is
    /// for what is allowed on this machine alone, and this is for what is refused there. What other names lead to is not
    /// known before they are looked up.
    package var mayBeThisMachine: Bool {
        let name = hasSuffix(".") ? String(dropLast()) : self
        if name.isLoopbackHost || name.lowercased().hasSuffix(".localhost") { return true }
        let bare = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
        // An address that stands for all addresses of a machine leads to this one.
        if let address = bare.socketAddress() { return address.isLoopback || address.isEveryAddress }
        // C reads `127.1`, `0x7f.1` and `2130706433` as addresses, and no name ends in a number.
        guard let last = bare.split(separator: ".").last?.lowercased() else { return true }
        return last.hasPrefix("0x") || last.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
