import NIOSSL

/// A provider's TLS client certificate with its chain and its private key.
package struct ProviderCertificate: Sendable {
    /// The largest size of the PEM text, in bytes. A chain of four certificates and an RSA key have about 10 KB.
    package static let maximumBytes = 65_536

    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    init(pem: String, key keyPEM: String) throws(ProviderError) {
        guard pem.utf8.count <= Self.maximumBytes else {
            throw ProviderError(.badCredentials, "The certificate is larger than \(Self.maximumBytes) bytes.")
        }
        do {
            chain = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        } catch {
            throw ProviderError(.badCredentials, "There is no certificate in PEM.")
        }
        guard !chain.isEmpty else { throw ProviderError(.badCredentials, "There is no certificate in PEM.") }
        do {
            key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        } catch {
            throw ProviderError(.badCredentials, "There is no private key in PEM, or it has a passphrase.")
        }
        do {
            // BoringSSL checks that the key belongs to the certificate when it has both.
            _ = try NIOSSLContext(configuration: tls(TLSConfiguration.makeClientConfiguration()))
        } catch {
            throw ProviderError(.badCredentials, "The private key does not belong to the certificate.")
        }
    }

    /// Returns the TLS configuration with this client certificate.
    func tls(_ configuration: TLSConfiguration) -> TLSConfiguration {
        var configuration = configuration
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        return configuration
    }
}
