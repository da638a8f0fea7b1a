import Foundation
import NIOSSL

/// An identity as TLS takes it: read once, and then the only form in which it is kept.
struct DeviceCredentials: Sendable {
    let environment: DeviceIdentity.Environment
    let deviceID: String
    /// The device's own certificate alone: the courier knows the intermediate that signed it (docs/device-protocol.md),
    /// and both sides would keep another 6 KB of parsed certificate for as long as the connection lasts.
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey

    /// Reads an identity.
    init(_ identity: DeviceIdentity) throws(DeviceError) {
        environment = identity.environment
        deviceID = identity.deviceID
        do {
            certificate = try Self.ownCertificate(identity.chainPEM)
            key = try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem)
            // A key of another certificate is found out here, and not in each handshake.
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates([])
            configuration.certificateChain = [.certificate(certificate)]
            configuration.privateKey = .privateKey(key)
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw DeviceError(.badIdentity, "The device identity cannot be used: \(error)")
        }
    }

    /// What TLS is to use on the connection.
    var override: NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = [.certificate(certificate)]
        override.privateKey = .privateKey(key)
        return override
    }

    /// When the certificate begins and ends; nil where it ends before it begins.
    var validity: DateInterval? { certificate.validity }

    /// The first certificate of a chain in PEM.
    static func ownCertificate(_ chain: String) throws -> NIOSSLCertificate {
        let end = chain.range(of: "-----END CERTIFICATE-----")?.upperBound ?? chain.endIndex
        guard let own = try NIOSSLCertificate.fromPEMBytes(Array((chain[..<end] + "\n").utf8)).first else {
            throw NIOSSLError.failedToLoadCertificate
        }
        return own
    }
}

extension NIOSSLCertificate {
    /// When it begins and ends; nil where it ends before it begins.
    var validity: DateInterval? {
        let start = Date(timeIntervalSince1970: Double(notValidBefore))
        let end = Date(timeIntervalSince1970: Double(notValidAfter))
        return start <= end ? DateInterval(start: start, end: end) : nil
    }
}
