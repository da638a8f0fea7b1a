import NIOCore
package import NIOSSL

/// The TLS of all listeners: the service's, those for other nodes, and the provider server's. This is the only place that
/// makes it.
package enum ListenerTLS {
    /// Whether a client has to have a certificate.
    package enum ClientCertificates: Sendable {
        /// It is not asked for one.
        case none
        case optional
        case required
    }

    /// - Parameters:
    ///   - chain: the listener's own certificate first.
    ///   - protocols: the names in ALPN, the best first; empty for a protocol that has no name there. The listener also has
    ///     to refuse a client that offers only others: BoringSSL goes on without a protocol, and NIOSSL has no setting for
    ///     that (decision 0086).
    package static func configuration(
        chain: [NIOSSLCertificate],
        key: NIOSSLPrivateKey,
        protocols: [String],
        clientCertificates: ClientCertificates = .none,
    ) -> TLSConfiguration {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // Whoever accepts a client's certificate checks it. Without this line, the library would read the system's roots,
        // which a minimal container does not have.
        tls.trustRoots = .certificates([])
        // The Guide requires TLS 1.2 or later (2.3.3).
        tls.minimumTLSVersion = .tlsv12
        // For TLS 1.2, HTTP/2 requires ephemeral keys and authenticated encryption (RFC 9113, 9.2.2), and RFC 9325, 4.1
        // and 4.2, asks for them everywhere. All cipher suites of TLS 1.3 have both.
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        // Without SHA-1, which the library would offer clients for the proof of their key, and use for its own if a client
        // allows nothing else (RFC 9155, 3 and 4).
        tls.verifySignatureAlgorithms = [
            .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384, .rsaPssRsaeSha384,
            .rsaPkcs1Sha384, .rsaPssRsaeSha512, .rsaPkcs1Sha512,
        ]
        tls.signingSignatureAlgorithms = [
            .ed25519, .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384,
            .rsaPssRsaeSha384, .rsaPkcs1Sha384, .ecdsaSecp521R1Sha512, .rsaPssRsaeSha512, .rsaPkcs1Sha512,
        ]
        tls.applicationProtocols = protocols
        // Wait only one second for a peer's close_notify. The default of five seconds is too long if a peer keeps
        // sending after GOAWAY.
        tls.shutdownTimeout = .seconds(1)
        tls.certificateVerification =
            switch clientCertificates {
            case .none: .none
            case .optional: .optionalVerification
            case .required: .noHostnameVerification
            }
        return tls
    }
}
