package import Notifications

/// The allowed form of a JSON value in a request or an answer.
///
/// One schema checks the bodies that arrive, with a pointer to the fault, and appears in `/openapi.json`. So the
/// description always says what is checked.
package indirect enum Schema: Sendable {
    case string(TextFormat)
    case integer(ClosedRange<Int64>)
    case boolean
    /// - Parameter count: the allowed numbers of elements.
    case array(Schema, count: ClosedRange<Int> = 0...Int(Int32.max))
    /// An object with these members and no others.
    case object([Member])
    /// Any object.
    case openObject
    /// A value of one of several forms, which differ in their JSON type.
    case oneOf([Schema])
    /// Null, where it means something else than a missing member.
    case null
    /// Any value.
    case any
    /// Another schema, with its name in the description.
    case named(String, Schema)

    /// One member of an object.
    package struct Member: Sendable {
        package let name: String
        package let schema: Schema
        let isRequired: Bool
        let meaning: String

        package static func required(_ name: String, _ schema: Schema, _ meaning: String = "") -> Member {
            Member(name: name, schema: schema, isRequired: true, meaning: meaning)
        }

        package static func optional(_ name: String, _ schema: Schema, _ meaning: String = "") -> Member {
            Member(name: name, schema: schema, isRequired: false, meaning: meaning)
        }
    }
}

extension Schema {
    /// The keys that an object may have; empty for any other schema.
    package var keys: [String] { members.map(\.name) }

    /// The members that an object may have; empty for any other schema.
    package var members: [Member] {
        switch self {
        case .object(let members): members
        case .named(_, let schema): schema.members
        default: []
        }
    }
}

extension Schema {
    /// A JSON Merge Patch (RFC 7396) of a value with this schema: each member may be missing, and one that the value may be
    /// without may be null.
    package var mergePatch: Schema {
        switch self {
        case .object(let members):
            .object(
                members.map { member in
                    let patch = member.schema.mergePatch
                    return .optional(member.name, member.isRequired ? patch : .oneOf([patch, .null]), member.meaning)
                })
        case .named(_, let schema): schema.mergePatch
        default: self
        }
    }
}

// MARK: - Checking

extension Schema {
    /// Checks a value.
    /// - Parameter pointer: the place of the value in the document (RFC 6901).
    /// - Throws: a problem with the place of the first fault and what is allowed there.
    package func check(_ value: JSONValue, at pointer: String = "") throws(Problem) {
        switch (self, value) {
        case (.any, _): break
        case (.string(let format), .string(let text)):
            guard format.allows(text) else { throw .invalid(pointer, "The value has to be \(format.name).") }
        case (.integer(let range), .integer), (.integer(let range), .number):
            // 1.0 is an integer as well (JSON Schema, 6.1.1).
            guard let number = value.int64 else { throw .wrongType(value, at: pointer, kind) }
            guard range.contains(number) else {
                throw .invalid(pointer, "The value has to be from \(range.lowerBound) to \(range.upperBound).")
            }
        case (.boolean, .bool), (.openObject, .object), (.null, .null): break
        case (.oneOf(let schemas), _):
            guard let schema = schemas.first(where: { $0.hasType(of: value) }) else {
                throw .wrongType(value, at: pointer, kind)
            }
            try schema.check(value, at: pointer)
        case (.array(let element, let count), .array(let values)):
            guard count.contains(values.count) else {
                throw .invalid(pointer, "The list has to have \(count.lowerBound) to \(count.upperBound) elements.")
            }
            for (index, value) in values.enumerated() { try element.check(value, at: "\(pointer)/\(index)") }
        case (.object(let members), .object(let values)):
            try check(values, members, at: pointer)
        case (.named(_, let schema), _):
            try schema.check(value, at: pointer)
        default:
            throw .wrongType(value, at: pointer, kind)
        }
    }

    private func check(_ values: JSONMembers, _ members: [Member], at pointer: String) throws(Problem) {
        for name in values.keys where !members.contains(where: { $0.name.isSame(as: name) }) {
            throw .unknown(name, at: pointer, keys: members.map(\.name))
        }
        for member in members {
            guard let value = values[member.name] else {
                guard !member.isRequired else { throw .missing(member.name, at: pointer) }
                continue
            }
            try member.schema.check(value, at: "\(pointer)/\(JSONValue.escaped(member.name))")
        }
    }

    /// Whether a value has the JSON type that the schema is about.
    private func hasType(of value: JSONValue) -> Bool {
        switch (self, value) {
        case (.any, _), (.string, .string), (.integer, .integer), (.integer, .number), (.boolean, .bool),
            (.array, .array), (.object, .object), (.openObject, .object), (.null, .null):
            true
        case (.oneOf(let schemas), _): schemas.contains { $0.hasType(of: value) }
        case (.named(_, let schema), _): schema.hasType(of: value)
        default: false
        }
    }

    private var kind: String {
        switch self {
        case .string(let format): format.name
        case .integer: "an integer"
        case .boolean: "true or false"
        case .array: "an array"
        case .null: "null"
        case .any: "any value"
        case .object, .openObject: "an object"
        case .oneOf(let schemas): schemas.map(\.kind).joined(separator: ", or ")
        case .named(_, let schema): schema.kind
        }
    }
}

// MARK: - Describing

extension Schema {
    /// The schema in OpenAPI 3.1, with references to named schemas.
    package var description: JSONValue {
        switch self {
        case .named(let name, _): ["$ref": .string("#/components/schemas/\(name)")]
        default: definition
        }
    }

    /// The schema in OpenAPI 3.1, with its members written out.
    package var definition: JSONValue {
        switch self {
        case .string(let format): Self.definition(of: format)
        case .integer(let range):
            ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
        case .boolean: ["type": "boolean"]
        case .array(let element, let count): Self.definition(ofArrayOf: element, count)
        case .object(let members): Self.definition(ofObjectOf: members)
        case .openObject: ["type": "object"]
        case .oneOf(let schemas): ["oneOf": .array(schemas.map(\.description))]
        case .null: ["type": "null"]
        case .any: [:]
        case .named(_, let schema): schema.definition
        }
    }

    private static func definition(of format: TextFormat) -> JSONValue {
        var parts: [String: JSONValue] = ["type": "string"]
        parts["pattern"] = format.pattern.map(JSONValue.string)
        if let length = format.length {
            parts["minLength"] = .integer(Int64(length.lowerBound))  // fits: a limit of ours
            parts["maxLength"] = .integer(Int64(length.upperBound))  // fits: a limit of ours
        }
        return .object(parts)
    }

    private static func definition(ofArrayOf element: Schema, _ count: ClosedRange<Int>) -> JSONValue {
        var parts: [String: JSONValue] = ["type": "array", "items": element.description]
        if count.lowerBound > 0 { parts["minItems"] = .integer(Int64(count.lowerBound)) }  // fits: a limit of ours
        // fits: a limit of ours
        if count.upperBound < Int(Int32.max) { parts["maxItems"] = .integer(Int64(count.upperBound)) }
        return .object(parts)
    }

    private static func definition(ofObjectOf members: [Member]) -> JSONValue {
        var properties: [String: JSONValue] = [:]
        for member in members {
            var property = member.schema.description
            if case .object(var parts) = property, !member.meaning.isEmpty {
                parts["description"] = .string(member.meaning)
                property = .object(parts)
            }
            properties[member.name] = property
        }
        return [
            "type": "object",
            "properties": .object(properties),
            "required": .array(members.filter(\.isRequired).map { .string($0.name) }),
            "additionalProperties": false,
        ]
    }

    /// The named schemas that this one refers to, including itself.
    package var references: [String: Schema] {
        switch self {
        case .named(let name, let schema):
            return schema.references.merging([name: schema], uniquingKeysWith: { $1 })
        case .array(let element, _): return element.references
        case .oneOf(let schemas):
            return schemas.reduce(into: [:]) { $0.merge($1.references, uniquingKeysWith: { $1 }) }
        case .object(let members):
            return members.reduce(into: [:]) { $0.merge($1.schema.references, uniquingKeysWith: { $1 }) }
        case .string, .integer, .boolean, .openObject, .null, .any: return [:]
        }
    }
}
