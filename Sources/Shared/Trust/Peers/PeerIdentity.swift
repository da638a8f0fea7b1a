package import Notifications

/// The role that a peer must have on a listener that asks for certificates.
package enum PeerRole: String, Sendable, Hashable, CaseIterable {
    case device
    case provider
    case administrator
    case node
}

/// The identity of a peer by its certificate. The caller decides what the peer may do: environment and revocations are
/// not checked here.
package enum PeerIdentity: Sendable, Hashable {
    case device(DeviceIdentity)
    case provider(ProviderIdentity)
    case administrator(AdministratorIdentity)
    case node(NodeIdentity)

    package var role: PeerRole {
        switch self {
        case .device: .device
        case .provider: .provider
        case .administrator: .administrator
        case .node: .node
        }
    }
}

/// The contents of an administrator's certificate.
package struct AdministratorIdentity: Sendable, Hashable {
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double

    package init(serial: CertificateSerial, validUntil: Double) {
        self.serial = serial
        self.validUntil = validUntil
    }
}

/// The contents of a node's certificate. All nodes of a service may do the same.
package struct NodeIdentity: Sendable, Hashable {
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double

    package init(serial: CertificateSerial, validUntil: Double) {
        self.serial = serial
        self.validUntil = validUntil
    }
}

/// The contents of a device certificate.
package struct DeviceIdentity: Sendable, Hashable {
    package let device: DeviceID
    package let environment: Environment
    package let serial: CertificateSerial
    /// SHA-256 of the public key's SubjectPublicKeyInfo: the same after a renewal with the same key.
    package let publicKeyFingerprint: [UInt8]
    /// Seconds since 1970.
    package let validUntil: Double
}
