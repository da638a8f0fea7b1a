/// An address and a port to listen on.
package struct ListenAddress: Sendable, Hashable {
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: an address such as `127.0.0.1:2199` or `[::1]:2199`. With port 0 the system chooses the
    ///   port.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: Int(port))  // fits: 16 bits
    }

    /// Whether it means all addresses of a machine, so that nobody can connect to it by this name.
    var isEveryAddress: Bool { host == "0.0.0.0" || host == "::" }

    /// `host:port`, with brackets around an IPv6 address.
    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
