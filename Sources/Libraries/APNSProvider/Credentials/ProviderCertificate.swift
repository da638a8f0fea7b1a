import Credentials
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
            chain = try PEM(pem).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        } catch {
            throw Self.unreadable("certificate", error)
        }
        do {
            key = try NIOSSLPrivateKey(bytes: PEM(keyPEM).privateKey, format: .der)
        } catch {
            throw Self.unreadable("private key", error)
        }
        do {
            // BoringSSL checks that the key belongs to the certificate when it has both.
            _ = try NIOSSLContext(configuration: tls(TLSConfiguration.makeClientConfiguration()))
        } catch {
            throw ProviderError(.badCredentials, "The private key does not belong to the certificate.")
        }
    }

    /// The error does not quote the text. The TLS library's own errors say nothing to a person.
    private static func unreadable(_ part: String, _ error: any Error) -> ProviderError {
        let cause = (error as? TrustError)?.clause ?? "its contents are not valid"
        return ProviderError(.badCredentials, "The \(part) cannot be read: \(cause).")
    }

    /// Returns the TLS configuration with this client certificate.
    func tls(_ configuration: TLSConfiguration) -> TLSConfiguration {
        var configuration = configuration
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        return configuration
    }
}
