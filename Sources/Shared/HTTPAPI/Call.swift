package import Hummingbird
import NIOCore
package import Notifications

/// A request that has passed the checks of its operation.
package struct Call<Caller: Sendable>: Sendable {
    package let request: Request
    package let caller: Caller
    private let input: CallInput

    init(_ request: Request, _ input: CallInput, caller: Caller) {
        self.request = request
        self.input = input
        self.caller = caller
    }

    /// The body; `{}` if there was none and the operation allows that.
    package var body: [UInt8] { input.body }

    /// The body as JSON.
    package var document: JSONValue { input.document }

    /// Reads the body by the declaration of its message.
    package func read<Message>(_ form: JSONForm<Message>) throws(Problem) -> Message { try form.read(document) }

    /// The body as a message.
    package func message<Message: JSONMessage>() throws(Problem) -> Message { try read(Message.form) }

    /// The value of a path parameter. The operation's path must contain the name.
    package func parameter(_ name: String) throws(Problem) -> String {
        guard let value = input.parameters[name] else { throw .notFound("There is nothing at this path.") }
        return value
    }

    /// The value of a query parameter; nil if the request does not have it.
    package func query(_ name: String) -> String? { input.query[name] }

    /// Whether a query parameter is `true`.
    package func isOn(_ name: String) -> Bool { query(name) == "true" }

    /// The most items of the page that a list request asks for.
    package var limit: Int { query("limit").flatMap { Int($0) } ?? APILimits.listItems }  // fits: nil if it does not
}

/// The parameters and the body of a request, after the checks of its operation.
struct CallInput: Sendable {
    var parameters: [String: String] = [:]
    let query: [String: String]
    var body = Array("{}".utf8)
    var document: JSONValue = [:]
}

extension CallInput {
    /// - Throws: a ``Problem`` that names the first fault.
    init<Server>(_ request: Request, _ operation: APIOperation<Server>, _ context: Server.Context) async throws {
        for (name, value) in context.parameters {
            parameters[String(name)] = try Self.decoded(value, "The path")
        }
        query = try Self.query(request.uri.query ?? "")
        try Self.check(operation.parameters, path: parameters, query: query)
        guard let expected = operation.body, expected.schema != nil else { return }
        let bytes = JSONValue.withoutMark(try await request.bytes(upTo: expected.maximumBytes))
        if !bytes.isEmpty || !expected.isOptional { body = bytes }
        document = try Self.document(body, expected)
    }

    /// Checks the parameters, and that the query has no others.
    static func check(
        _ expected: [Parameter], path: [String: String], query: [String: String],
    ) throws(Problem) {
        for parameter in expected {
            let text = (parameter.place == .path ? path : query)[parameter.name]
            if let text { try Self.check(parameter, text) }
        }
        let known = expected.filter { $0.place == .query }.map(\.name)
        for name in query.keys.sorted() where !known.contains(name) {
            let allowed = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
            throw Problem(400, "The query has the unknown parameter \(name.debugDescription); \(allowed).")
        }
    }

    /// Reads a JSON body, and checks its schema if the operation does not read it.
    static func document(_ body: [UInt8], _ expected: Body) throws(Problem) -> JSONValue {
        let value = try document(body)
        if expected.isChecked { try expected.schema?.check(value) }
        return value
    }

    private static func document(_ body: [UInt8]) throws(Problem) -> JSONValue {
        do throws(JSONFault) {
            return try JSONValue(document: body, maximumDepth: APILimits.documentDepth)
        } catch {
            throw Problem.invalid(error.pointer, error.detail(of: "The body"))
        }
    }

    /// Reads a query as browsers write it: `+` is a space (URL Standard, 5.1).
    static func query(_ text: String) throws(Problem) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let equals = pair.firstIndex(of: "=") ?? pair.endIndex
            let name = try decoded(pair[..<equals].replacing("+", with: " "), "The query")
            let value = try decoded(pair[equals...].dropFirst().replacing("+", with: " "), "The query")
            guard query.updateValue(value, forKey: name) == nil else {
                throw Problem(400, "The query has the parameter \(name.debugDescription) twice.")
            }
        }
        return query
    }

    private static func decoded(_ text: some StringProtocol, _ place: String) throws(Problem) -> String {
        guard let bytes = text.percentDecoded else {
            throw Problem(400, "\(place) has a percent sign without two hexadecimal digits after it.")
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw Problem(400, "\(place) has bytes after percent signs that are not UTF-8.")
        }
        return decoded
    }

    private static func check(_ parameter: Parameter, _ text: String) throws(Problem) {
        let value: JSONValue =
            switch parameter.schema {
            case .integer: Int64(text).map(JSONValue.integer) ?? .string(text)  // fits: nil if it does not
            case .boolean: Bool(text).map(JSONValue.bool) ?? .string(text)
            default: .string(text)
            }
        do throws(Problem) {
            try parameter.schema.check(value)
        } catch {
            throw Problem(400, "\(parameter.name) is \(text.debugDescription). \(error.detail)")
        }
    }
}

extension Request {
    /// The whole body.
    /// - Parameter limit: the largest size in bytes.
    /// - Throws: 413 if the body is larger, 400 if it does not arrive completely.
    package func bytes(upTo limit: Int) async throws(Problem) -> [UInt8] {
        do {
            return Array(try await body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem(413, "The body may have \(limit) bytes.")
        } catch {
            throw Problem(400, "The body did not arrive completely.")
        }
    }
}
