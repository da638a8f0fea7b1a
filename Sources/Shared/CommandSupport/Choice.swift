import ArgumentParser

/// Reads an option whose value is one of a few words, which a type of a library defines.
package func choice<Value: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Value {
    try choice(text, among: Array(Value.allCases))
}

/// Reads an option that takes some of a type's words.
package func choice<Value: RawRepresentable<String>>(_ text: String, among values: [Value]) throws -> Value {
    if let value = values.first(where: { $0.rawValue == text }) { return value }
    let choices = values.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("\(text) is not one of \(choices).")
}

/// The names of the allowed values, for the help text of an option.
package func choices(_ values: [some RawRepresentable<String>]) -> String {
    let names = values.map(\.rawValue)
    return names.count > 1 ? names.dropLast().joined(separator: ", ") + " or " + names[names.count - 1] : names.joined()
}
