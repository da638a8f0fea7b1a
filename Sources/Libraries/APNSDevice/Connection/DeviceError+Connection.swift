import Connections
import HTTP2

extension DeviceError {
    /// Creates the error for a connection that ended, from what TLS and HTTP/2 report.
    init(_ end: SessionEnd) {
        guard case .channelError(let error) = end else {
            self.init(.disconnected, "The connection ended: \(end).")
            return
        }
        let cause = ConnectionFailure.cause(of: error)
        if cause.contains("CERTIFICATE_VERIFY_FAILED") {
            self.init(
                .courierNotTrusted,
                "The authority did not issue the courier's certificate for this name, or this device's clock is wrong."
            )
        } else if ConnectionFailure.refusesCertificate(cause) {
            self.init(.identityRefused, "The courier does not accept the device's certificate (\(cause)).")
        } else if cause == ConnectionFailure.endedInHandshake || cause.contains("WRONG_VERSION_NUMBER") {
            self.init(
                .disconnected,
                "What listens there does not answer as a courier does (\(cause)): check the address and the port, or try "
                    + "again later, because a courier that has too many connections does the same.")
        } else {
            self.init(.disconnected, "The connection broke: \(cause)")
        }
    }
}
