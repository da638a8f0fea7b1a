import Foundation

/// Calls `body` with a path that does not exist. Afterwards everything at that path and beside it is removed.
package func withTemporaryPath<Result>(_ body: (_ path: String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // Ignore a failure: a folder that stays does no harm.
    return try await body(folder.path + "/data")
}
