import Crypto
import Foundation

/// The key that clients of the management API need over TCP. The first start makes it, and writes it to a file in the
/// data folder.
enum ManagementKey {
    /// The size of the key, in bytes. Nobody can guess 256 random bits.
    private static let bytes = 32

    /// The key in the data folder, or a new one.
    static func load(in folder: DataFolder) throws(ServiceError) -> String {
        let file = folder.managementKeyFile
        if let data = FileManager.default.contents(atPath: file) {
            let key = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard key.utf8.count >= bytes, key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw ServiceError(
                    .dataFolder,
                    "\(file) has no key of at least \(bytes) visible ASCII characters. If you remove it, the next start makes one."
                )
            }
            return key
        }
        let key = SymmetricKey(size: .init(bitCount: bytes * 8)).withUnsafeBytes { bytes in
            bytes.map { String(format: "%02x", $0) }.joined()
        }
        try DataFolder.write(key + "\n", to: file)
        return key
    }
}
