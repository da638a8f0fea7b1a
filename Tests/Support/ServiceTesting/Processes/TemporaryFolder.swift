import CommonTesting
import Foundation

/// Makes a new folder for `body`, and removes it afterwards with everything in it.
///
/// - Parameter body: gets the folder's absolute path, which is short enough for a Unix socket in it.
func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let name = "carillon-\(UUID().uuidString.prefix(8))"
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A folder that is left behind fails no test.
    return try await body(folder.path)
}

/// The contents of all files in a folder and below, by path, to check that nothing has changed.
func contents(ofFolder path: String) throws -> [String: Data] {
    var result: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
        // A folder or a socket has no contents.
        result[name] = FileManager.default.contents(atPath: path + "/" + name) ?? Data()
    }
    return result
}

/// The permissions of a file, as `chmod` takes them.
func permissions(ofFile path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}
