/// Calls `body`, and then `cleanUp`, whether `body` threw an error or not.
/// - Throws: the error of `body`, which says more, or else that of `cleanUp`.
package func withCleanUp<Result>(
    _ body: () async throws -> Result,
    cleanUp: () async throws -> Void,
) async throws -> Result {
    let result: Result
    do {
        result = try await body()
    } catch {
        try? await cleanUp()
        throw error
    }
    try await cleanUp()
    return result
}
