import Foundation
package import Notifications

/// A device's identity as it is kept: its key, its certificate chain, and which environment they are for, in one file
/// in PEM that `curl --cert` takes as well.
package struct DeviceIdentityFile: Sendable {
    package var environment: Environment
    /// What the service calls the device: 16 hexadecimal digits.
    package var deviceID: String
    package var keyPEM: String
    /// The device's own certificate first.
    package var chainPEM: String

    package init(environment: Environment, deviceID: String, keyPEM: String, chainPEM: String) {
        self.environment = environment
        self.deviceID = deviceID
        self.keyPEM = keyPEM
        self.chainPEM = chainPEM
    }

    /// In bytes: a key and three certificates fit ten times.
    static let maximumBytes = 65_536

    /// Text before the blocks of a PEM file is for people (RFC 7468, 2); it says what the blocks do not.
    private static let environmentLabel = "Environment: "
    private static let deviceLabel = "Device: "

    /// The file's text.
    package var text: String {
        """
        Carillon device identity
        \(Self.environmentLabel)\(environment.rawValue)
        \(Self.deviceLabel)\(deviceID)

        \(keyPEM.lines)\(chainPEM.lines)
        """
    }

    /// Reads a file that was written before.
    package init(path: String) throws(DeviceError) {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.maximumBytes else {
            throw DeviceError(.badIdentity, "The device identity \(path) cannot be read.")
        }
        let text = String(decoding: data, as: UTF8.self)
        guard let environment = text.value(of: Self.environmentLabel).flatMap(Environment.init(rawValue:)),
            let deviceID = text.value(of: Self.deviceLabel),
            let keyStart = text.range(of: "-----BEGIN PRIVATE KEY-----"),
            let keyEnd = text.range(of: "-----END PRIVATE KEY-----"), keyStart.lowerBound < keyEnd.lowerBound,
            let chainStart = text.range(of: "-----BEGIN CERTIFICATE-----")
        else { throw DeviceError(.badIdentity, "\(path) is not a device identity.") }
        self.init(
            environment: environment,
            deviceID: deviceID,
            keyPEM: String(text[keyStart.lowerBound..<keyEnd.upperBound]),
            chainPEM: String(text[chainStart.lowerBound...]),
        )
    }
}

extension String {
    /// With exactly one line end at its end.
    fileprivate var lines: String { hasSuffix("\n") ? self : self + "\n" }

    /// The rest of the line that begins with the label.
    fileprivate func value(of label: String) -> String? {
        split(separator: "\n").first { $0.hasPrefix(label) }.map { String($0.dropFirst(label.count)) }
    }
}
