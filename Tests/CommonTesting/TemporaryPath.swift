import Foundation

/// Runs the test with a path where nothing is yet. Whatever the test puts there is removed afterwards, with what it puts
/// beside it.
package func withTemporaryPath<Result>(_ body: (_ path: String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A folder left behind fails no test.
    return try await body(folder.path + "/data")
}
