import CommandSupport
import Configuration
import Foundation
import Service
import SystemPackage

/// The JSON file that `--config` names.
struct SettingsFile {
    let path: String
    let contents: Data

    init(_ path: String) throws {
        self.path = path
        do {
            contents = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw CommandError("The settings file \(path) cannot be read: \(DataFolder.reason(error)).")
        }
        do {
            guard try JSONSerialization.jsonObject(with: contents) is [String: Any] else {
                throw CommandError("The settings file \(path) does not contain a JSON dictionary.")
            }
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The settings file \(path) is not JSON\(Self.place(of: error, in: contents)).")
        }
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

    /// Where the JSON is invalid, if the JSON reader says so.
    private static func place(of error: any Error, in contents: Data) -> String {
        let description = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? ""
        guard let match = description.firstMatch(of: /line ([0-9]+)/) else { return "" }
        return ": look at line \(match.1)"
    }
}
