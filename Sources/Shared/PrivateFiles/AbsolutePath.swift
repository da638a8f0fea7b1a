import Foundation

/// Makes a path absolute that a person has written.
package enum AbsolutePath {
    /// - Parameter path: an absolute path, or one relative to the working directory. `~` stands for the home folder.
    package static func of(_ path: String) -> String {
        URL(fileURLWithPath: NSString(string: path).expandingTildeInPath).standardizedFileURL.path
    }
}
