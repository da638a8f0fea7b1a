import Connections
import Credentials
import Foundation
import NIOSSL

/// An identity in the form that TLS uses. It is parsed once and then kept only in this form.
struct DeviceCredentials: Sendable {
    let environment: DeviceIdentity.Environment
    let deviceID: String
    /// Only the device's own certificate: the courier knows the intermediate that signed it
    /// (docs/device-protocol.md). Sending the chain would cost 6 KB of parsed certificate on both sides for as long
    /// as the connection lasts.
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey

    /// Parses an identity.
    init(_ identity: DeviceIdentity) throws(DeviceError) {
        environment = identity.environment
        deviceID = identity.deviceID
        do {
            certificate = try Self.ownCertificate(identity.chainPEM)
            key = try NIOSSLPrivateKey(bytes: PEM(identity.keyPEM).privateKey, format: .der)
        } catch {
            let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
            throw DeviceError(.badIdentity, "The device identity cannot be used: \(cause).")
        }
        do {
            // Check here that the key belongs to the certificate, instead of failing in each handshake.
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates([])
            configuration.certificateChain = [.certificate(certificate)]
            configuration.privateKey = .privateKey(key)
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            let cause = "its private key does not belong to its certificate"
            throw DeviceError(.badIdentity, "The device identity cannot be used: \(cause).")
        }
    }

    /// The certificate and key for the TLS connection.
    var override: NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = [.certificate(certificate)]
        override.privateKey = .privateKey(key)
        return override
    }

    /// The certificate's validity period; nil if it ends before it begins.
    var validity: DateInterval? { certificate.validity }

    /// Returns the first certificate of a chain in PEM.
    static func ownCertificate(_ chain: String) throws -> NIOSSLCertificate {
        try NIOSSLCertificate(bytes: PEM(chain).certificates[0], format: .der)
    }
}

extension NIOSSLCertificate {
    /// The certificate's validity period; nil if it ends before it begins.
    var validity: DateInterval? {
        let start = Date(timeIntervalSince1970: Double(notValidBefore))
        let end = Date(timeIntervalSince1970: Double(notValidAfter))
        return start <= end ? DateInterval(start: start, end: end) : nil
    }
}
