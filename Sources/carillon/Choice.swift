import ArgumentParser

/// Reads one of a few words, for options whose types belong to a library.
func choice<Value: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Value {
    if let value = Value(rawValue: text) { return value }
    let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("\(text) is not one of \(choices).")
}
