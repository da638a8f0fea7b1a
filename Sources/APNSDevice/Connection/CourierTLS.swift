import NIOCore
import NIOSSL

/// What all TLS connections to one courier have in common, read once: a fleet of devices shares it.
///
/// BoringSSL's context, with its roots and its lists, takes 4 KB. There is one for all devices, and a device's own
/// certificate comes in when the courier asks for it: see ``CredentialsHandler``.
package final class CourierTLS: Sendable {
    let courier: CourierAddress
    let context: NIOSSLContext

    /// Reads the authority's certificate.
    package init(_ courier: CourierAddress) throws(DeviceError) {
        self.courier = courier
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        // Who has not said goodbye by then will not: what the connection ended with is reported after it.
        configuration.shutdownTimeout = .seconds(1)
        do {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(courier.authorityFile))
            configuration.sslContextCallback = { _, promise in
                promise.succeed(CredentialsHandler.takeCurrent()?.override ?? NIOSSLContextConfigurationOverride())
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw DeviceError(
                .badAuthority, "The authority's certificate \(courier.authorityFile) cannot be read: \(error)")
        }
    }
}
