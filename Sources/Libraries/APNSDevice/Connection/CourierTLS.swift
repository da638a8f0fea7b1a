import Connections
import Credentials
import Foundation
import NIOCore
import NIOSSL

/// The TLS context for connections to one courier. A fleet of devices shares it.
///
/// BoringSSL's context with its root certificates takes 4 KB, so all devices share one. The device's own certificate
/// is set when the courier asks for it; see ``CredentialsHandler``.
package final class CourierTLS: Sendable {
    let courier: CourierAddress
    let context: NIOSSLContext
    private let authority: [UInt8]

    /// Reads the authority's certificate.
    /// - Throws: ``DeviceError/Code/badAuthority`` if it cannot be read.
    package init(_ courier: CourierAddress) throws(DeviceError) {
        self.courier = courier
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        // Close without waiting for close_notify after this time, because the connection's error is only reported
        // then.
        configuration.shutdownTimeout = .seconds(1)
        do {
            authority = Array(try Data(contentsOf: URL(fileURLWithPath: courier.authorityFile)))
            let roots = try PEM(authority).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
            configuration.trustRoots = .certificates(roots)
            configuration.sslContextCallback = { _, promise in
                promise.succeed(CredentialsHandler.useCurrent()?.override ?? NIOSSLContextConfigurationOverride())
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
            throw DeviceError(
                .badAuthority, "The authority's certificate \(courier.authorityFile) cannot be read: \(cause).")
        }
    }

    /// Whether the authority's file holds another certificate than when it was read: the service was set up anew, and the
    /// identities that the old one issued are of no use.
    var isReplaced: Bool {
        guard let now = FileManager.default.contents(atPath: courier.authorityFile) else { return false }
        return !now.elementsEqual(authority)
    }
}
