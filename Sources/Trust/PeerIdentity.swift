package import Notifications

/// What a peer must be on a listener that asks for certificates.
package enum PeerRole: String, Sendable, Hashable, CaseIterable {
    case device
    case provider
    case administrator
}

/// Who a peer is by its certificate. Whether it may do something here, and now, is for the caller to decide: the
/// environment and the revocations are not judged.
package enum PeerIdentity: Sendable, Hashable {
    case device(DeviceIdentity)
    case provider(ProviderIdentity)
    case administrator(AdministratorIdentity)

    package var role: PeerRole {
        switch self {
        case .device: .device
        case .provider: .provider
        case .administrator: .administrator
        }
    }
}

/// What an administrator's certificate says.
package struct AdministratorIdentity: Sendable, Hashable {
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double

    package init(serial: CertificateSerial, validUntil: Double) {
        self.serial = serial
        self.validUntil = validUntil
    }
}

/// What a device certificate says.
package struct DeviceIdentity: Sendable, Hashable {
    package let device: DeviceID
    package let environment: Environment
    package let serial: CertificateSerial
    /// SHA-256 of the public key's SubjectPublicKeyInfo: the same after a renewal with the same key.
    package let publicKeyFingerprint: [UInt8]
    /// Seconds since 1970.
    package let validUntil: Double
}
