package import Foundation

/// This repository's files, for tests of documents and of what lies in a folder.
package enum Repository {
    /// The folder that has Package.swift.
    package static let root: URL = {
        var folder = URL(fileURLWithPath: #filePath)
        repeat {
            folder.deleteLastPathComponent()
        } while folder.path != "/"
            && !FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path)
        return folder
    }()

    /// A file or folder, by its path below the root.
    package static func file(_ path: String) -> URL {
        root.appendingPathComponent(path)
    }

    package static func text(_ path: String) throws -> String {
        try String(contentsOf: file(path), encoding: .utf8)
    }
}
