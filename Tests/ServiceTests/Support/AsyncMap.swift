extension Sequence where Self: Sendable, Element: Sendable {
    /// Does something for all elements at the same time.
    func asyncMap<Value: Sendable>(
        _ work: @escaping @Sendable (Element) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for element in self { group.addTask { try await work(element) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
