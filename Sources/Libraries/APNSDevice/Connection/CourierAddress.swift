/// The address of a courier, and the authority that its certificate is verified with.
public struct CourierAddress: Sendable, Hashable {
    /// The courier's name or IP address. If a name has several addresses, they are tried one after the other.
    public var host: String
    /// The courier's port.
    public var port: Int
    /// The path of the root certificate in PEM, the service's `ca.pem`.
    public var authorityFile: String
    /// The server name in the TLS handshake; by default the host's name.
    public var serverName: String?

    /// Creates an address.
    /// - Parameters:
    ///   - host: the courier's name or IP address.
    ///   - port: the courier's port. It is 5223 for development if the service uses its standard ports.
    ///   - authorityFile: the path of the root certificate in PEM, the service's `ca.pem`.
    ///   - serverName: the server name in the TLS handshake, if it differs from the host's name.
    public init(host: String, port: Int, authorityFile: String, serverName: String? = nil) {
        self.host = host
        self.port = port
        self.authorityFile = authorityFile
        self.serverName = serverName
    }

    /// The host and port in the form of a URL, with IPv6 addresses in brackets (RFC 3986, 3.2.2).
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
