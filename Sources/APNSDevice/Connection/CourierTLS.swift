package import NIOSSL
import Synchronization

/// What all TLS connections to one courier have in common, read once: a fleet of devices shares it.
package final class CourierTLS: Sendable {
    /// How many intermediate certificates are remembered: an authority has one for devices.
    private static let maximumIntermediates = 8

    private let roots: [NIOSSLCertificate]
    /// By their PEM: a parsed certificate takes 5 KB, and a fleet's devices all have the same.
    private let intermediates = Mutex<[String: NIOSSLCertificate]>([:])

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
                configuration.certificateChain = try chain(identity.chainPEM).map { .certificate($0) }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw DeviceError(.badIdentity, "The device identity cannot be used: \(error)")
        }
    }

    private func chain(_ pem: String) throws -> [NIOSSLCertificate] {
        let mark = "-----END CERTIFICATE-----"
        let blocks = pem.split(separator: mark, omittingEmptySubsequences: true).map { String($0) + mark + "\n" }
            .filter { $0.contains("-----BEGIN CERTIFICATE-----") }
        guard let own = blocks.first else { throw NIOSSLError.failedToLoadCertificate }
        return try NIOSSLCertificate.fromPEMBytes(Array(own.utf8)) + blocks.dropFirst().flatMap(intermediate)
    }

    private func intermediate(_ pem: String) throws -> [NIOSSLCertificate] {
        let text = pem.drop { $0.isWhitespace }
        if let known = intermediates.withLock({ $0[String(text)] }) { return [known] }
        let read = try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
        if let certificate = read.first {
            intermediates.withLock { known in
                if known.count < Self.maximumIntermediates { known[String(text)] = certificate }
            }
        }
        return read
    }
}
