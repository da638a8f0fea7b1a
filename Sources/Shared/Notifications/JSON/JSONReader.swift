/// An error about an invalid value in a JSON document.
package protocol DocumentFault: Error {
    /// - Parameters:
    ///   - pointer: the place of the value in the document (RFC 6901).
    ///   - detail: what is allowed there.
    static func invalid(_ pointer: String, _ detail: String) -> Self
}

// The faults that every reader finds.
extension DocumentFault {
    package static func missing(_ key: String, at pointer: String) -> Self {
        .invalid(pointer, "The key \(key) is missing.")
    }

    /// - Parameter keys: the keys that the object may have.
    package static func unknown(_ key: String, at pointer: String, keys: [String]) -> Self {
        let known = keys.joined(separator: ", ")
        return .invalid(
            "\(pointer)/\(JSONValue.escaped(key))",
            known.isEmpty ? "The object takes no keys." : "The key is unknown; the object takes \(known).")
    }

    package static func wrongType(_ value: JSONValue, at pointer: String, _ allowed: String) -> Self {
        .invalid(pointer, "The value is of the type \(value.typeName); it has to be \(allowed).")
    }
}

/// Reads an object of a JSON document. If the object is invalid, the error names the place of the first fault and the
/// allowed values. Each target that reads documents adds what only its documents have.
package struct JSONReader<Fault: DocumentFault>: Sendable {
    package let members: JSONMembers
    /// The place of the object in the document (RFC 6901).
    package let pointer: String

    /// - Parameters:
    ///   - keys: the keys that the object may have; nil for any.
    ///   - nullIsMissing: whether a key with the value null counts as missing.
    package init(
        _ value: JSONValue,
        at pointer: String,
        keys: [String]?,
        nullIsMissing: Bool,
    ) throws(Fault) {
        guard case .object(let members) = value else { throw .wrongType(value, at: pointer, "an object") }
        if let keys {
            for name in members.keys where !keys.containsExactly(name) {
                throw .unknown(name, at: pointer, keys: keys)
            }
        }
        self.members = nullIsMissing ? members.filter { $0.value != .null } : members
        self.pointer = pointer
    }

    package func place(_ key: String) -> String { pointer + "/" + JSONValue.escaped(key) }

    package func fault(_ key: String, _ allowed: String) -> Fault {
        .invalid(place(key), "The value has to be \(allowed).")
    }

    package func wrongType(_ key: String, _ value: JSONValue, _ allowed: String) -> Fault {
        .wrongType(value, at: place(key), allowed)
    }

    package func required<Value>(_ key: String, _ value: Value?) throws(Fault) -> Value {
        guard let value else { throw .missing(key, at: pointer) }
        return value
    }

    package func required(_ key: String) throws(Fault) -> JSONValue { try required(key, members[key]) }

    package func text(_ key: String) throws(Fault) -> String? {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value else { throw wrongType(key, value, "a string") }
        return text
    }

    package func integer(_ key: String, _ range: ClosedRange<Int64>) throws(Fault) -> Int64? {
        guard let value = members[key] else { return nil }
        guard let number = value.int64 else { throw wrongType(key, value, "an integer") }
        guard range.contains(number) else { throw fault(key, "from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }
}

extension JSONValue {
    /// A key, escaped for a JSON pointer (RFC 6901, 3).
    package static func escaped(_ key: String) -> String {
        key.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
