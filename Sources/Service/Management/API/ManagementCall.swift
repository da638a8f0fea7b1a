import Console
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications

/// A request that has passed the checks of its operation.
struct ManagementCall: Sendable {
    let caller: ManagementCaller
    let request: Request
    /// Completes when the client's connection has ended.
    private let connectionEnd: EventLoopFuture<Void>
    /// The console session that sent the request; nil if the request came from elsewhere.
    let session: ConsoleSessions.Name?
    private let api: ManagementAPI
    private let parameters: [String: String]
    private let query: [String: String]
    /// The body; `{}` if there was none and the operation allows that.
    private let body: Data

    /// Reads and checks the parameters and the body of the operation.
    /// - Throws: a ``Problem`` that names the first fault.
    init(
        _ request: Request,
        _ operation: ManagementOperation,
        _ context: ManagementContext,
        _ api: ManagementAPI,
    ) async throws {
        self.request = request
        self.api = api
        session = context.session(of: request, now: api.now)
        caller = context.caller
        connectionEnd = context.connectionEnd
        var parameters: [String: String] = [:]
        for (name, value) in context.parameters {
            guard let decoded = value.removingPercentEncoding else {
                throw Problem(400, "The path has a percent sign without two hexadecimal digits after it.")
            }
            parameters[String(name)] = decoded
        }
        var query: [String: String] = [:]
        for (name, value) in request.uri.queryParameters {
            guard query.updateValue(String(value), forKey: String(name)) == nil else {
                throw Problem(400, "The query has the parameter \(String(name).debugDescription) twice.")
            }
        }
        self.query = query
        self.parameters = parameters
        for parameter in operation.parameters { try Self.check(parameter, parameters, query) }
        let known = operation.parameters.filter { $0.place == .query }.map(\.name)
        for name in query.keys.sorted() where !known.contains(name) {
            let allowed = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
            throw Problem(400, "The query has the unknown parameter \(name.debugDescription); \(allowed).")
        }
        body = try await Self.body(of: request, operation)
    }

    private static func check(
        _ parameter: ManagementOperation.Parameter,
        _ path: [String: String],
        _ query: [String: String],
    ) throws(Problem) {
        guard let text = (parameter.place == .path ? path : query)[parameter.name] else { return }
        let value: JSONValue =
            switch parameter.schema {
            case .integer: Int64(text).map(JSONValue.integer) ?? .string(text)
            case .boolean: Bool(text).map(JSONValue.bool) ?? .string(text)
            default: .string(text)
            }
        do throws(Problem) {
            try parameter.schema.check(value)
        } catch {
            throw Problem(400, "\(parameter.name) is \(text.debugDescription). \(error.detail)")
        }
    }

    private static func body(of request: Request, _ operation: ManagementOperation) async throws -> Data {
        guard let expected = operation.body else { return Data("{}".utf8) }
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: expected.maximumBytes)
        } catch is NIOTooManyBytesError {
            throw Problem(413, "The body may have \(expected.maximumBytes) bytes.")
        } catch {
            throw Problem(400, "The body did not arrive completely.")
        }
        if buffer.readableBytes == 0, expected.isOptional { return Data("{}".utf8) }
        let data = Data(buffer.readableBytesView)
        let depth = ManagementLimits.documentDepth
        // JSONDecoder takes the first of two values with the same key; the schema would check the last.
        guard let value = JSONValue(any: Array(data), maximumDepth: depth, refusesRepeatedKeys: true) else {
            throw Problem.invalid(
                "", "The body is not JSON, has a key twice in one object, or is nested in more than \(depth) levels.")
        }
        try expected.schema.check(value)
        return data
    }

    /// The body as a message. Its schema was checked before.
    func message<Message: Decodable>() throws -> Message {
        do {
            return try JSONDecoder().decode(Message.self, from: body)
        } catch {
            throw Problem.invalid("", "The body is not the JSON that \(request.method) \(request.uri.path) takes.")
        }
    }

    /// Calls `finish` when the client has disconnected or its console session has ended. Streams, which do not end by
    /// themselves, need this.
    func whenOver(_ finish: @escaping @Sendable () -> Void) {
        connectionEnd.whenComplete { _ in finish() }
        guard let session else { return }
        let console = api.console
        guard let (left, answer) = console.add(finish, to: session, now: api.now) else { return finish() }
        let timer = connectionEnd.eventLoop.scheduleTask(in: TimeAmount(left)) { finish() }
        connectionEnd.whenComplete { _ in
            timer.cancel()
            console.remove(answer, of: session)
        }
    }

    /// The value of a path parameter. The operation's path must contain the name.
    func parameter(_ name: String) throws(Problem) -> String {
        guard let value = parameters[name] else { throw .notFound("There is nothing at this path.") }
        return value
    }

    /// The value of a query parameter; nil if the request does not have it.
    func query(_ name: String) -> String? { query[name] }
}
