extension Collection where Element: Sendable, Self: Sendable {
    /// Transforms the elements in tasks, of which at most `limit` run at the same time.
    /// - Returns: the results in the order of the elements.
    /// - Throws: the first error. No element is begun after it, and those that were begun are waited for.
    func mapInTasks<Result: Sendable>(
        atMost limit: Int,
        _ transform: @escaping @Sendable (Element) async throws -> Result,
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Result?] = Array(repeating: nil, count: count)
            for (index, element) in enumerated() {
                if index >= limit, let (done, result) = try await group.next() { results[done] = result }
                group.addTask { (index, try await transform(element)) }
            }
            for try await (done, result) in group { results[done] = result }
            return results.compactMap { $0 }
        }
    }
}
