package import Notifications

/// A device's identity: its key, its certificate chain, and which environment they are for (Guide, 2.1.4.4).
///
/// Made by ``activate(at:environment:code:)``, and kept by the caller in a safe place: whoever has it is the device.
public struct DeviceIdentity: Sendable, Hashable {
    /// Which of the service's two worlds the device belongs to.
    public enum Environment: String, Sendable, Hashable, CaseIterable {
        case development
        case production
    }

    /// Which of the service's two worlds the device belongs to.
    public var environment: Environment
    /// What the service calls the device: 16 hexadecimal digits.
    public var deviceID: String
    /// The private key: PKCS#8 in PEM.
    public var keyPEM: String
    /// The certificate chain in PEM, the device's own certificate first.
    public var chainPEM: String

    public init(environment: Environment, deviceID: String, keyPEM: String, chainPEM: String) {
        self.environment = environment
        self.deviceID = deviceID
        self.keyPEM = keyPEM
        self.chainPEM = chainPEM
    }
}

extension DeviceIdentity {
    /// Which device it is, and no more.
    var withoutSecrets: DeviceIdentity {
        DeviceIdentity(environment: environment, deviceID: deviceID, keyPEM: "", chainPEM: "")
    }
}

extension DeviceIdentity.Environment {
    package init(_ environment: Notifications.Environment) {
        switch environment {
        case .development: self = .development
        case .production: self = .production
        }
    }

    package var inService: Notifications.Environment {
        switch self {
        case .development: .development
        case .production: .production
        }
    }
}

extension DeviceIdentity: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the key: a description ends up in a log.
    public var description: String { "device \(deviceID) (\(environment.rawValue))" }
    public var debugDescription: String { description }
}
