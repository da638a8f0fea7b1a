/// Where a courier is, and by which authority it is known.
public struct CourierAddress: Sendable, Hashable {
    /// A name, or an address. Each address of a name is tried, the next one where one does not answer.
    public var host: String
    public var port: Int
    /// The root certificate's file, PEM: the service's `ca.pem`.
    public var authorityFile: String
    /// The name that the TLS handshake asks for; the host's by default.
    public var serverName: String?

    /// - Parameters:
    ///   - host: the courier's name or address.
    ///   - port: the courier's port: 5223 for development, where the service uses its standard ports.
    ///   - authorityFile: the root certificate's file, PEM: the service's `ca.pem`.
    ///   - serverName: the name that the TLS handshake asks for, where it is not the host's.
    public init(host: String, port: Int, authorityFile: String, serverName: String? = nil) {
        self.host = host
        self.port = port
        self.authorityFile = authorityFile
        self.serverName = serverName
    }

    /// The address as it stands in a URL: IPv6 addresses are in brackets (RFC 3986, 3.2.2).
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
