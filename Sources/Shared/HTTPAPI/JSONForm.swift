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
    fileprivate let reading: @Sendable (JSONValue, JSONPlace) throws -> Value
    fileprivate let writing: @Sendable (Value) -> JSONValue

    /// Reads a value.
    /// - Parameters:
    ///   - pointer: the place of the value in the document (RFC 6901).
    ///   - isStrict: whether unknown keys, and values that the schema does not allow, are faults. A client is not strict,
    ///     because the server may be newer.
    ///   - nullIsMissing: whether a member with the value null counts as missing; nil for what is not strict.
    package func read(
        _ value: JSONValue,
        at pointer: String = "",
        isStrict: Bool = true,
        nullIsMissing: Bool? = nil,
    ) throws(Problem) -> Value {
        let place = JSONPlace(pointer: pointer, isStrict: isStrict, nullIsMissing: nullIsMissing ?? !isStrict)
        do {
            return try reading(value, place)
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
            schema: schema,
            reading: { json, place in
                guard let other = value(try reading(json, place)) else {
                    throw Problem.invalid(place.pointer, "The value has to be \(allowed).")
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

extension JSONForm where Value: FixedWidthInteger & Sendable {
    // Two parameters, because the compiler takes seconds for a declaration with several ranges.
    package static func integer(from lowest: Int = 0, to highest: Int = .max) -> JSONForm {
        checked(.integer(Int64(clamping: lowest)...Int64(clamping: highest))) { value in
            value.int64.flatMap { Value(exactly: $0) }
        } writing: {
            .integer(Int64(clamping: $0))
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
            schema: schema,
            reading: { json, place in
                if place.isStrict { try schema.check(json, at: place.pointer) }
                guard let value = value(json) else { throw place.wrongType }
                return value
            }, writing: writing)
    }

    /// A text, or an object with more.
    /// - Parameter value: makes the value of the text alone.
    package static func text(
        _ format: TextFormat,
        or object: JSONForm,
        value: @escaping @Sendable (String) -> Value,
        text: @escaping @Sendable (Value) -> String?,
    ) -> JSONForm {
        JSONForm(
            schema: .oneOf([.string(format), object.schema]),
            reading: { json, place in
                if place.isStrict { try Schema.oneOf([.string(format), .openObject]).check(json, at: place.pointer) }
                if case .string(let text) = json { return value(text) }
                return try object.reading(json, place)
            }, writing: { value in text(value).map { .string($0) } ?? object.writing(value) })
    }

    /// A value, or null.
    package static func nullable<Wrapped>(_ form: JSONForm<Wrapped>) -> JSONForm where Value == Wrapped? {
        JSONForm(
            schema: .oneOf([form.schema, .null]),
            reading: { json, place in if json == .null { nil } else { try form.reading(json, place) } },
            writing: { $0.map(form.writing) ?? .null })
    }

    package static func list<Element>(
        of element: JSONForm<Element>,
        from fewest: Int = 0,
        to most: Int = Int(Int32.max),
    ) -> JSONForm where Value == [Element] {
        JSONForm(
            schema: .array(element.schema, count: fewest...most),
            reading: { json, place in
                // Check the type and the number of elements here, and each element when it is read.
                if place.isStrict { try Schema.array(.any, count: fewest...most).check(json, at: place.pointer) }
                guard case .array(let values) = json else { throw place.wrongType }
                return try values.enumerated().map { try element.reading($1, place["\($0)"]) }
            }, writing: { .array($0.map(element.writing)) })
    }

    /// An object with any keys that are not texts of people. The description does not say of which form its values are.
    package static func dictionary<Element>(
        of element: JSONForm<Element>
    ) -> JSONForm where Value == [String: Element] {
        let exact = JSONForm<[ExactText: Element]>.exactDictionary(of: element)
        return JSONForm(
            schema: exact.schema,
            reading: { json, place in
                Dictionary(try exact.reading(json, place).map { ($0.key.text, $0.value) }) { _, last in last }
            }, writing: { .object($0.mapValues(element.writing)) })
    }

    /// An object with any keys, which are compared by their code units.
    package static func exactDictionary<Element>(
        of element: JSONForm<Element>
    ) -> JSONForm where Value == [ExactText: Element] {
        JSONForm(
            schema: .openObject,
            reading: { json, place in
                try Schema.openObject.check(json, at: place.pointer)
                guard case .object(let members) = json else { throw place.wrongType }
                return try members.reduce(into: [:]) {
                    $0[ExactText($1.key)] = try element.reading($1.value, place[$1.key])
                }
            }, writing: { .object(JSONMembers(lastOf: $0.map { ($0.key.text, element.writing($0.value)) })) })
    }
}

/// Where a value is in a document, and how it is read.
private struct JSONPlace: Sendable {
    let pointer: String
    let isStrict: Bool
    let nullIsMissing: Bool

    /// The place of a member or of an element.
    subscript(key: String) -> JSONPlace {
        JSONPlace(
            pointer: pointer + "/" + JSONValue.escaped(key), isStrict: isStrict, nullIsMissing: nullIsMissing)
    }

    var wrongType: Problem { .invalid(pointer, "The value has another type.") }
}

// MARK: - Objects

/// One member of an object: its key, the form of its value, and the property with this value.
package struct JSONMember<Object, Part>: Sendable {
    /// More than one if the members of another form are here.
    fileprivate let members: [Schema.Member]
    fileprivate let read: @Sendable (_ members: JSONMembers, JSONPlace) throws -> Part
    fileprivate let write: @Sendable (Object) -> [(key: String, value: JSONValue)]

    package static func required(
        _ key: String,
        _ form: JSONForm<Part>,
        _ property: @escaping @Sendable (Object) -> Part,
        _ meaning: String = "",
    ) -> JSONMember {
        JSONMember(
            members: [.required(key, form.schema, meaning)],
            read: { values, place in
                guard let value = values[key] else { throw Problem.missing(key, at: place.pointer) }
                return try form.reading(value, place[key])
            }, write: { [(key, form.writing(property($0)))] })
    }

    /// A member that may be missing.
    package static func optional<Wrapped>(
        _ key: String,
        _ form: JSONForm<Wrapped>,
        _ property: @escaping @Sendable (Object) -> Wrapped?,
        _ meaning: String = "",
    ) -> JSONMember where Part == Wrapped? {
        JSONMember(
            members: [.optional(key, form.schema, meaning)],
            read: { values, place in try values[key].map { try form.reading($0, place[key]) } },
            write: { object in property(object).map { [(key, form.writing($0))] } ?? [] })
    }

    /// The members of another object, which several objects have in common.
    package static func members(
        of form: JSONForm<Part>,
        _ property: @escaping @Sendable (Object) -> Part,
    ) -> JSONMember {
        let keys = Set(form.schema.keys)
        return JSONMember(
            members: form.schema.members,
            read: { values, place in
                try form.reading(.object(values.filter { keys.contains($0.key) }), place)
            },
            write: { object in
                form.writing(property(object)).members.map { ($0.key, $0.value) }
            })
    }
}

extension JSONForm {
    /// An object with these members and no others.
    /// - Parameters:
    ///   - name: its name in the description; nil if it is described where it is used.
    ///   - make: makes the value from those of the members, in their order.
    package static func object<each Part>(
        _ name: String?,
        _ make: @escaping @Sendable (repeat each Part) -> Value,
        _ member: repeat JSONMember<Value, each Part>,
    ) -> JSONForm {
        var members: [Schema.Member] = []
        var writers: [@Sendable (Value) -> [(key: String, value: JSONValue)]] = []
        for member in repeat each member {
            members += member.members
            writers.append(member.write)
        }
        let (known, written) = (members.map(\.name), writers)
        return JSONForm(
            schema: name.map { .named($0, .object(members)) } ?? .object(members),
            reading: { json, place in
                let object = try JSONReader<Problem>(
                    json, at: place.pointer, keys: place.isStrict ? known : nil, nullIsMissing: place.nullIsMissing)
                func read<Read>(_ member: JSONMember<Value, Read>) throws -> Read {
                    try member.read(object.members, place)
                }
                return make(repeat try read(each member))
            },
            writing: { value in
                .object(JSONMembers(lastOf: written.flatMap { $0(value) }))
            })
    }
}

// MARK: - Messages

/// A message of an API. Its form says its JSON once, also for encoders and decoders.
package protocol JSONMessage: Codable, Sendable {
    static var form: JSONForm<Self> { get }
}

extension JSONMessage {
    package static var schema: Schema { form.schema }
    package var json: JSONValue { Self.form.write(self) }

    /// Reads an answer of a server, which may be newer.
    package init(from decoder: any Decoder) throws {
        self = try Self.form.read(try JSONValue(from: decoder), isStrict: false)
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
