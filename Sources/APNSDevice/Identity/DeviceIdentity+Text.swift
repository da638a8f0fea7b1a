import Foundation

// An identity as it is kept: one file in PEM that `curl --cert` takes as well (docs/device-protocol.md).
extension DeviceIdentity {
    /// In bytes: a key and three certificates fit ten times.
    static let maximumBytes = 65_536

    /// Text before the blocks of a PEM file is for people (RFC 7468, 2); it says what the blocks do not.
    package static let title = "Carillon device identity"
    private static let environmentLabel = "Environment: "
    private static let deviceLabel = "Device: "

    /// The text of an identity file.
    public var text: String {
        """
        \(Self.title)
        \(Self.environmentLabel)\(environment.rawValue)
        \(Self.deviceLabel)\(deviceID)

        \(keyPEM.lines)\(chainPEM.lines)
        """
    }

    /// Reads the text of an identity file.
    /// - Returns: nil where it is something else. Whether key and certificate are good shows when they are used.
    public init?(text: String) {
        guard text.utf8.count <= Self.maximumBytes,
            let keyStart = text.range(of: "-----BEGIN PRIVATE KEY-----"),
            // The labels stand before the blocks: a fleet reads 10,000 of these.
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
    public init(path: String) throws(DeviceError) {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.maximumBytes else {
            throw DeviceError(.badIdentity, "The device identity \(path) cannot be read.")
        }
        guard let identity = DeviceIdentity(text: String(decoding: data, as: UTF8.self)) else {
            throw DeviceError(.badIdentity, "\(path) is not a device identity.")
        }
        self = identity
    }

    /// Writes an identity file that only its owner may read, whole or not at all.
    public func write(to path: String) throws(DeviceError) {
        try OwnFile.write(Data(text.utf8), to: path)
    }
}

extension String {
    /// With exactly one line end at its end.
    fileprivate var lines: String { hasSuffix("\n") ? self : self + "\n" }
}

extension Substring {
    /// The rest of the line that begins with the label.
    fileprivate func value(of label: String) -> String? {
        split(separator: "\n").first { $0.hasPrefix(label) }.map { String($0.dropFirst(label.count)) }
    }
}
