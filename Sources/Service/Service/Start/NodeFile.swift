import Foundation
import Notifications

/// The file with random bytes that identify this data folder among those that use one store. Only a folder whose store is
/// elsewhere contains the file.
enum NodeFile {
    static let name = "node.json"
    private static let byteCount = 16

    private struct Record: Codable {
        var identity: String
    }

    /// Reads the identity. The first start makes it.
    static func identity(in folder: DataFolder) throws(ServiceError) -> [UInt8] {
        let file = folder.nodeFile
        guard let data = FileManager.default.contents(atPath: file) else {
            var random = SystemRandomNumberGenerator()
            let bytes = (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            try DataFolder.write(#"{"identity":"\#(Hexadecimal.string(bytes))"}"# + "\n", to: file)
            return bytes
        }
        guard let record = try? JSONValue.decode(data, as: Record.self),
            let bytes = Hexadecimal.bytes(record.identity), bytes.count == byteCount
        else {
            throw ServiceError(
                .dataFolder, "\(file) is damaged: remove it, and start 15 seconds after the service has ended.")
        }
        return bytes
    }
}
