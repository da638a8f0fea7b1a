package import Notifications

/// How a value is read from JSON, written as JSON and described in `/openapi.json`. All three follow from one declaration:
///
/// ```swift
/// static let form = JSONForm.object(
///     "Hook", Hook.init(id:url:),
///     .required("id", .text(.any), \.id, "The hook's identifier."),
///     .required("url", .text(.line(maximumBytes: 1_000)), \.url, "Where events are sent."))
/// ```
///
/// A member without a property, or a property without a member, does not compile.
package struct JSONForm<Value>: Sendable {
    package let schema: Schema
    /// Throws a ``Problem`` with the place of the first fault.
    fileprivate let reading: @Sendable (JSONValue, _ pointer: String) throws -> Value
    fileprivate let writing: @Sendable (Value) -> JSONValue

    package init(
        _ schema: Schema,
        reading: @escaping @Sendable (JSONValue, _ pointer: String) throws -> Value,
        writing: @escaping @Sendable (Value) -> JSONValue,
    ) {
        self.schema = schema
        self.reading = reading
        self.writing = writing
    }

    /// Reads a value.
    /// - Parameter pointer: the place of the value in the document (RFC 6901).
    package func read(_ value: JSONValue, at pointer: String = "") throws(Problem) -> Value {
        do {
            return try reading(value, pointer)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw .invalid(pointer, "\(error)")
        }
    }

    package func write(_ value: Value) -> JSONValue { writing(value) }

    /// Another type with the same JSON.
    /// - Parameter value: makes the value of what was read; nil if this is not allowed.
    package func map<Other>(
        to base: @escaping @Sendable (Other) -> Value,
        from value: @escaping @Sendable (Value) -> Other?,
        allowed: String,
    ) -> JSONForm<Other> {
        JSONForm<Other>(
            schema,
            reading: { json, pointer in
                guard let other = value(try reading(json, pointer)) else {
                    throw Problem.invalid(pointer, "The value has to be \(allowed).")
                }
                return other
            }, writing: { writing(base($0)) })
    }
}

// MARK: - Simple values

extension JSONForm<String> {
    package static func text(_ format: TextFormat) -> JSONForm {
        checked(.string(format)) {
            if case .string(let text) = $0 { text } else { nil }
        } writing: {
            .string($0)
        }
    }
}

extension JSONForm<Int64> {
    package static func integer(_ range: ClosedRange<Int64>) -> JSONForm {
        checked(.integer(range)) { value in
            switch value {
            case .integer(let number): number
            case .number(let number): Int64(exactly: number)
            default: nil
            }
        } writing: {
            .integer($0)
        }
    }
}

extension JSONForm<Bool> {
    package static var boolean: JSONForm {
        checked(.boolean) {
            if case .bool(let isTrue) = $0 { isTrue } else { nil }
        } writing: {
            .bool($0)
        }
    }
}

extension JSONForm<JSONValue> {
    /// Any JSON that fits the schema.
    package static func json(_ schema: Schema) -> JSONForm { checked(schema, { $0 }, writing: { $0 }) }
}

extension JSONForm {
    /// A value that its schema checks.
    private static func checked(
        _ schema: Schema,
        _ value: @escaping @Sendable (JSONValue) -> Value?,
        writing: @escaping @Sendable (Value) -> JSONValue,
    ) -> JSONForm {
        JSONForm(
            schema,
            reading: { json, pointer in
                try schema.check(json, at: pointer)
                guard let value = value(json) else { throw Problem.invalid(pointer, "The value has another type.") }
                return value
            }, writing: writing)
    }

    package static func list<Element>(
        of element: JSONForm<Element>,
        count: ClosedRange<Int> = 0...Int(Int32.max),
    ) -> JSONForm where Value == [Element] {
        JSONForm(
            .array(element.schema, count: count),
            reading: { json, pointer in
                // Check the type and the number of elements here, and each element when it is read.
                try Schema.array(.any, count: count).check(json, at: pointer)
                guard case .array(let values) = json else { return [] }
                return try values.enumerated().map { try element.reading($1, "\(pointer)/\($0)") }
            }, writing: { .array($0.map(element.writing)) })
    }
}

// MARK: - Objects

/// One member of an object: its key, the form of its value, and the property with this value.
package struct JSONMember<Object, Part>: Sendable {
    fileprivate let member: Schema.Member
    fileprivate let read: @Sendable (JSONValue?, _ pointer: String) throws -> Part
    fileprivate let write: @Sendable (Object) -> JSONValue?

    package static func required(
        _ key: String,
        _ form: JSONForm<Part>,
        _ property: @escaping @Sendable (Object) -> Part,
        _ meaning: String = "",
    ) -> JSONMember {
        JSONMember(
            member: .required(key, form.schema, meaning),
            read: { value, pointer in
                guard let value else { throw Problem.invalid(pointer, "The key \(key) is missing.") }
                return try form.reading(value, place(key, pointer))
            }, write: { form.writing(property($0)) })
    }

    /// A member that may be missing, or null.
    package static func optional<Wrapped>(
        _ key: String,
        _ form: JSONForm<Wrapped>,
        _ property: @escaping @Sendable (Object) -> Wrapped?,
        _ meaning: String = "",
    ) -> JSONMember where Part == Wrapped? {
        JSONMember(
            member: .optional(key, form.schema, meaning),
            read: { value, pointer in try value.map { try form.reading($0, place(key, pointer)) } },
            write: { property($0).map(form.writing) })
    }

    private static func place(_ key: String, _ pointer: String) -> String { pointer + "/" + JSONValue.escaped(key) }
}

extension JSONForm {
    /// An object with these members and no others.
    /// - Parameters:
    ///   - name: its name in the description.
    ///   - make: makes the value from those of the members, in their order.
    package static func object<each Part>(
        _ name: String,
        _ make: @escaping @Sendable (repeat each Part) -> Value,
        _ member: repeat JSONMember<Value, each Part>,
    ) -> JSONForm {
        var members: [Schema.Member] = []
        var writers: [(key: String, write: @Sendable (Value) -> JSONValue?)] = []
        for member in repeat each member {
            members.append(member.member)
            writers.append((member.member.name, member.write))
        }
        let (known, written) = (members.map(\.name), writers)
        return JSONForm(
            .named(name, .object(members)),
            reading: { json, pointer in
                let object = try JSONReader<Problem>(json, at: pointer, keys: known, nullIsMissing: true)
                func read<Read>(_ member: JSONMember<Value, Read>) throws -> Read {
                    try member.read(object.members[member.member.name], pointer)
                }
                return make(repeat try read(each member))
            },
            writing: { value in
                let pairs = written.compactMap { writer in writer.write(value).map { (writer.key, $0) } }
                return .object(Dictionary(pairs, uniquingKeysWith: { $1 }))
            })
    }
}
