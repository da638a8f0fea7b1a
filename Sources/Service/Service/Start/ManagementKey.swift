import Crypto
import Foundation

/// The key that clients of the management API need over TCP. The first start makes it, and writes it to a file in the
/// data folder.
enum ManagementKey {
    /// The size of the key, in bytes. Nobody can guess 256 random bits.
    private static let bytes = 32
    /// The size of a key that a test chooses for a store in memory. Nobody guesses it before the test ends.
    static let testBytes = 16

    /// The key that a setting gives, that of the data folder, or a new one.
    static func load(in folder: DataFolder, _ settings: Settings) throws(ServiceError) -> String {
        if let key = settings.managementKey {
            // The commands and the ready line name this file.
            try DataFolder.write(key + "\n", to: folder.managementKeyFile)
            return key
        }
        let file = settings.managementKeyFile ?? folder.managementKeyFile
        guard settings.managementKeyFile == nil || FileManager.default.fileExists(atPath: file) else {
            throw ServiceError(.badSetting, "The setting management-key-file is \(file), which cannot be found.")
        }
        if let data = FileManager.default.contents(atPath: file) {
            let key = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard key.utf8.count >= bytes, isVisible(key) else {
                if settings.managementKeyFile != nil {
                    throw ServiceError(
                        .badSetting,
                        "The setting management-key-file is \(file), which has no key of at least \(bytes) visible ASCII "
                            + "characters.")
                }
                throw ServiceError(
                    .dataFolder,
                    "\(file) has no key of at least \(bytes) visible ASCII characters. If you remove it, the next start makes one."
                )
            }
            return key
        }
        guard settings.managementKeyFile == nil else {
            throw ServiceError(.badSetting, "The setting management-key-file is \(file), which cannot be read.")
        }
        let key = SymmetricKey(size: .init(bitCount: bytes * 8)).withUnsafeBytes { bytes in
            bytes.map { String(format: "%02x", $0) }.joined()
        }
        try DataFolder.write(key + "\n", to: file)
        return key
    }

    /// Whether a header can contain the key.
    static func isVisible(_ key: String) -> Bool { key.utf8.allSatisfy { (0x21...0x7e).contains($0) } }
}
