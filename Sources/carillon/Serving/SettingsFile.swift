import CommandSupport
import Configuration
import Foundation
import Notifications
import Service
import SystemPackage

/// The JSON file that `--config` names.
struct SettingsFile {
    let path: String
    let members: JSONMembers

    init(_ path: String) throws {
        self.path = path
        let contents: Data
        do {
            contents = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw CommandError("The settings file \(path) cannot be read: \(DataFolder.reason(error)).")
        }
        guard case .object(let members) = try JSONFile.value(of: contents, "The settings file \(path)") else {
            throw CommandError("The settings file \(path) does not contain a JSON dictionary.")
        }
        self.members = members
    }

    func provider() async throws -> any ConfigProvider {
        do {
            return try await FileProvider<JSONSnapshot>(filePath: FilePath(path))
        } catch {
            // For example, the library does not accept null.
            throw CommandError(
                "The settings file \(path) has a value that is neither a text, a number, true, false, a list nor a dictionary."
            )
        }
    }
}
