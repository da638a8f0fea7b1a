import Connections
import Foundation

// The file format of an identity: one PEM file that `curl --cert` accepts as well (docs/device-protocol.md).
extension DeviceIdentity {
    /// The largest size of an identity file, in bytes. A key and three certificates take a tenth of it.
    static let maximumBytes = 65_536

    /// The first line of the file. PEM allows explanatory text before the blocks (RFC 7468, 2); ours also has the
    /// environment and the device's identifier.
    package static let title = "Carillon device identity"
    private static let environmentLabel = "Environment: "
    private static let deviceLabel = "Device: "

    /// The contents of an identity file, including the private key.
    public var text: String {
        """
        \(Self.title)
        \(Self.environmentLabel)\(environment.rawValue)
        \(Self.deviceLabel)\(deviceID)

        \(keyPEM.lines)\(chainPEM.lines)
        """
    }

    /// Creates an identity from the contents of an identity file.
    /// - Returns: nil if the text is not an identity file. The key and the certificate are only checked when they
    ///   are used.
    public init?(text: String) {
        guard text.utf8.count <= Self.maximumBytes,
            let keyStart = text.range(of: "-----BEGIN PRIVATE KEY-----"),
            // Search for the labels only before the first block, because a fleet reads 10,000 identities.
            let environment = text[..<keyStart.lowerBound].value(of: Self.environmentLabel)
                .flatMap(Environment.init(rawValue:)),
            let deviceID = text[..<keyStart.lowerBound].value(of: Self.deviceLabel),
            let keyEnd = text.range(of: "-----END PRIVATE KEY-----"), keyStart.lowerBound < keyEnd.lowerBound,
            let chainStart = text.range(of: "-----BEGIN CERTIFICATE-----")
        else { return nil }
        self.init(
            environment: environment,
            deviceID: deviceID,
            keyPEM: String(text[keyStart.lowerBound..<keyEnd.upperBound]),
            chainPEM: String(text[chainStart.lowerBound...]),
        )
    }

    /// Reads an identity file.
    /// - Throws: ``DeviceError/Code/badIdentity`` if the file cannot be read or is not an identity file.
    public init(path: String) throws(DeviceError) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            let cause = ConnectionFailure.cause(of: error)
            throw DeviceError(.badIdentity, "The device identity \(path) cannot be read: \(cause).")
        }
        guard data.count <= Self.maximumBytes,
            let identity = DeviceIdentity(text: String(decoding: data, as: UTF8.self))
        else {
            throw DeviceError(.badIdentity, "\(path) is not a device identity.")
        }
        self = identity
    }

    /// Writes an identity file that only its owner may read. If writing fails, the old file is unchanged.
    /// - Throws: ``DeviceError/Code/storage`` if the file cannot be written.
    public func write(to path: String) throws(DeviceError) {
        try OwnFile.write(Data(text.utf8), to: path)
    }
}

extension String {
    /// The text with exactly one line break at its end.
    fileprivate var lines: String { hasSuffix("\n") ? self : self + "\n" }
}

extension Substring {
    /// Returns the rest of the line that begins with the label.
    fileprivate func value(of label: String) -> String? {
        split(separator: "\n").first { $0.hasPrefix(label) }.map { String($0.dropFirst(label.count)) }
    }
}
