import NIOSSL

/// Where a courier is, and by which authority it is known.
package struct CourierAddress: Sendable {
    package var host: String
    package var port: Int
    /// The root certificate's file, PEM.
    package var authorityFile: String

    /// The name that the TLS handshake asks for; the host's by default.
    package var serverName: String?

    package init(host: String, port: Int, authorityFile: String, serverName: String? = nil) {
        self.serverName = serverName
        self.host = host
        self.port = port
        self.authorityFile = authorityFile
    }

    /// A connection's TLS, with the identity where there is one.
    func tls(_ identity: DeviceIdentityFile?) throws(DeviceError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.trustRoots = .file(authorityFile)
        do {
            if let identity {
                let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.chainPEM.utf8))
                configuration.certificateChain = chain.map { .certificate($0) }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw DeviceError(.badIdentity, "The identity or the authority's certificate cannot be read: \(error)")
        }
    }
}
