import Connections
import Credentials
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
    /// - Returns: nil if the text is not an identity file. Whether the key and the certificate can be used is only
    ///   checked when they are used.
    public init?(text: String) {
        guard text.utf8.count <= Self.maximumBytes, let identity = try? DeviceIdentity(reading: text) else {
            return nil
        }
        self = identity
    }

    /// - Throws: `TrustError` with the sentence that says what is missing or wrong.
    private init(reading text: String) throws(TrustError) {
        // The labels may stand anywhere in the text, as other explanatory text.
        guard let environment = text.value(of: Self.environmentLabel).flatMap(Environment.init(rawValue:)),
            let deviceID = text.value(of: Self.deviceLabel)
        else {
            throw TrustError(
                .malformed,
                "There are no lines \(Self.environmentLabel)development or production, and \(Self.deviceLabel)ID.")
        }
        let pem = try PEM(text)
        self.init(
            environment: environment,
            deviceID: deviceID,
            keyPEM: try pem.privateKeyText,
            chainPEM: try pem.certificateText,
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
        guard data.count <= Self.maximumBytes else {
            throw DeviceError(.badIdentity, "\(path) is not a device identity: it has over \(Self.maximumBytes) bytes.")
        }
        do throws(TrustError) {
            try self.init(reading: String(decoding: data, as: UTF8.self))
        } catch {
            throw DeviceError(.badIdentity, "\(path) is not a device identity: \(error.clause).")
        }
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

extension String {
    /// Returns the rest of the line that begins with the label, without white space at its ends.
    fileprivate func value(of label: String) -> String? {
        // Bytes are split, because a fleet reads 10,000 identities.
        let lines = utf8.lazy.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        guard let line = lines.first(where: { $0.starts(with: label.utf8) }) else { return nil }
        return String(decoding: line.dropFirst(label.utf8.count), as: UTF8.self).trimmingCharacters(in: .whitespaces)
    }
}
