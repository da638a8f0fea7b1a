import Connections

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
        guard let (host, port) = text.hostAndPort else { return nil }
        self.init(host: host, port: port)
    }

    /// Whether only this machine can connect to it.
    package var isLoopback: Bool { host.isLoopbackHost }

    /// Whether it means all addresses of a machine, so that nobody can connect to it by this name.
    package var isEveryAddress: Bool { host.isEveryAddress }

    /// `host:port`, with brackets around an IPv6 address.
    package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
