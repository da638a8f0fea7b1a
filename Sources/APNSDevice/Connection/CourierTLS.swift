package import NIOSSL

/// What all TLS connections to one courier have in common, read once: a fleet of devices shares it.
package struct CourierTLS: Sendable {
    private let roots: [NIOSSLCertificate]

    /// Reads the authority's certificate.
    package init(_ courier: CourierAddress) throws(DeviceError) {
        do {
            roots = try NIOSSLCertificate.fromPEMFile(courier.authorityFile)
        } catch {
            throw DeviceError(
                .badAuthority, "The authority's certificate \(courier.authorityFile) cannot be read: \(error)")
        }
    }

    /// What connections with one identity, or without one, have in common.
    package func context(_ identity: DeviceIdentity?) throws(DeviceError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.trustRoots = .certificates(roots)
        do {
            if let identity {
                let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.chainPEM.utf8))
                configuration.certificateChain = chain.map { .certificate($0) }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw DeviceError(.badIdentity, "The device identity cannot be used: \(error)")
        }
    }
}
