import ArgumentParser

/// Reads an option whose value is one of a few words, which a type of a library defines.
func choice<Value: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Value {
    if let value = Value(rawValue: text) { return value }
    let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("\(text) is not one of \(choices).")
}
