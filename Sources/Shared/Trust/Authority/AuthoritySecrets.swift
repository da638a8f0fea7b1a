/// The certificate authority as a store keeps it: its certificates and their private keys.
///
/// Whoever reads these can issue any certificate. It describes itself without them.
package struct AuthoritySecrets: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// A certificate and its private key.
    package struct Issuer: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
        package var certificatePEM: String
        /// PKCS#8; nil for an external root, whose key stays with the operator.
        package var keyPEM: String?

        package init(certificatePEM: String, keyPEM: String?) {
            self.certificatePEM = certificatePEM
            self.keyPEM = keyPEM
        }

        package var description: String { "AuthoritySecrets.Issuer" }
        package var debugDescription: String { description }
    }

    package var root: Issuer
    package var servers: Issuer
    package var providers: Issuer
    package var devices: Issuer
    package var administrators: Issuer

    package init(root: Issuer, servers: Issuer, providers: Issuer, devices: Issuer, administrators: Issuer) {
        self.root = root
        self.servers = servers
        self.providers = providers
        self.devices = devices
        self.administrators = administrators
    }

    package var description: String { "AuthoritySecrets" }
    package var debugDescription: String { description }
}
