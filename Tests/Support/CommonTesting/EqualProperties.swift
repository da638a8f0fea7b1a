/// Returns the names of the properties that have the same value in both, so that a test notices a property that its example
/// leaves out.
package func equalProperties<Value>(_ one: Value, _ other: Value) -> [String] {
    zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
        .filter { String(reflecting: $0.value) == String(reflecting: $1.value) }
        .compactMap { $0.0.label }
}
