// The type of the service is the type of the library.
@_exported public import enum Notifications.PushEnvironment

/// A device's identity: its key, its certificate chain and its environment (Guide, 2.1.4.4).
///
/// Get one with ``activate(at:environment:code:keyPEM:)`` and keep it in a safe place: anybody who has it can act as the
/// device.
public struct DeviceIdentity: Sendable, Hashable {
    /// The environment that a device belongs to.
    public typealias Environment = PushEnvironment

    /// The environment that the device belongs to.
    public var environment: Environment
    /// The service's identifier for the device, 16 hexadecimal digits.
    public var deviceID: String
    /// The private key, PKCS#8 in PEM.
    public var keyPEM: String
    /// The certificate chain in PEM, the device's own certificate first.
    public var chainPEM: String

    /// Creates an identity from its parts.
    public init(environment: Environment, deviceID: String, keyPEM: String, chainPEM: String) {
        self.environment = environment
        self.deviceID = deviceID
        self.keyPEM = keyPEM
        self.chainPEM = chainPEM
    }
}

extension DeviceIdentity {
    /// The identity without its key and certificates.
    var withoutSecrets: DeviceIdentity {
        DeviceIdentity(environment: environment, deviceID: deviceID, keyPEM: "", chainPEM: "")
    }
}

extension DeviceIdentity: CustomStringConvertible, CustomDebugStringConvertible {
    /// A description without the key, because descriptions end up in logs.
    public var description: String { "device \(deviceID) (\(environment.rawValue))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
}
