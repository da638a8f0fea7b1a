package import Hummingbird
import HTTPTypes
import Logging

/// A server with an API: one table of operations, from which the router, the checks and the description are made.
package protocol APIServer: Sendable {
    associatedtype Context: RequestContext
    associatedtype Access: OperationAccess
    /// What the server knows of the sender of a request.
    associatedtype Caller: Sendable

    static var operations: [APIOperation<Self>] { get }

    /// Says who sent a request. It is called again after the body has arrived: a key or certificate may have been
    /// revoked meanwhile.
    /// - Throws: a ``Problem`` if the sender may not send the request.
    func caller(of request: Request, _ context: Context, _ access: Access) throws -> Caller

    /// The problem that an error of an operation is; nil for an error that the server does not know.
    /// - Parameter isNamedInPath: whether the path names an item. If it is missing, the status is 404.
    func problem(of error: any Error, isNamedInPath: Bool) -> Problem?
}

extension APIServer {
    /// A router with all operations, and a `HEAD` for each `GET`. It answers every error with a ``Problem``.
    package func router() -> Router<Context> {
        let router = Router(context: Context.self)
        router.add(middleware: ErrorAnswers(server: self))
        for operation in Self.operations {
            let route = RouterPath(operation.path.replacing("{", with: ":").replacing("}", with: ""))
            router.on(route, method: operation.method) { request, context in
                try await perform(operation, request, context)
            }
            guard operation.method == .get else { continue }
            router.on(route, method: .head) { request, context in
                try await perform(operation, request, context).createHeadResponse()
            }
        }
        return router
    }

    private func perform(
        _ operation: APIOperation<Self>, _ request: Request, _ context: Context
    ) async throws -> Response {
        let first = try caller(of: request, context, operation.access)
        let input = try await CallInput(request, operation, context)
        let caller = operation.body == nil ? first : try caller(of: request, context, operation.access)
        do {
            return try await operation.perform(self, Call(request, input, caller: caller))
        } catch {
            let isNamed = operation.parameters.contains { $0.place == .path }
            throw problem(of: error, isNamedInPath: isNamed) ?? error
        }
    }
}

extension APIServer {
    /// The operations of a path, which differ by their methods. A path may have the form of two, such as
    /// `/v1/requests/wait` and `/v1/requests/{id}`: the router chooses the one that has the words themselves.
    static func operations(at path: some StringProtocol) -> [APIOperation<Self>] {
        let matching = operations.filter { $0.matches(path) }
        func placeholders(_ operation: APIOperation<Self>) -> Int { operation.path.count { $0 == "{" } }
        guard let own = matching.min(by: { placeholders($0) < placeholders($1) }) else { return [] }
        return matching.filter { $0.path == own.path }
    }
}

/// Answers every error with a ``Problem``. Clients without access get the same answer for every path, so they cannot find
/// out which paths exist.
private struct ErrorAnswers<Server: APIServer>: RouterMiddleware {
    typealias Context = Server.Context

    let server: Server

    @concurrent func handle(
        _ request: Request,
        context: Server.Context,
        next: @concurrent (Request, Server.Context) async throws -> Response,
    ) async throws -> Response {
        do {
            // Without this check, `/v1/teams/` with an empty name would be taken for the list `/v1/teams`.
            let path = request.uri.path
            guard !path.contains("//"), path == "/" || !path.hasSuffix("/") else { throw HTTPError(.notFound) }
            return try await next(request, context).protected()
        } catch let error as HTTPError where error.status == .notFound {
            return Response(nothing(at: request, context)).protected()
        } catch {
            return Response(problem(of: error, request, context)).protected()
        }
    }

    /// The answer to a request with an unknown path or method.
    private func nothing(at request: Request, _ context: Server.Context) -> Problem {
        do {
            _ = try server.caller(of: request, context, .unknownPath)
        } catch {
            return problem(of: error, request, context)
        }
        let path = request.uri.path
        let methods = Server.operations(at: path).map(\.method.rawValue)
        guard methods.isEmpty else {
            let head = methods.contains("GET") ? ["HEAD"] : []
            return .methodNotAllowed(request.method.rawValue, allowed: (methods + head).sorted())
        }
        return .notFound("There is no \(path) here; /openapi.json describes what there is.")
    }

    private func problem(of error: any Error, _ request: Request, _ context: Server.Context) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as HTTPError: return Problem(error.status.code, error.body ?? error.status.reasonPhrase)
        default:
            if let problem = server.problem(of: error, isNamedInPath: false) { return problem }
            context.logger.error(
                "A request failed",
                metadata: ["request": "\(request.method) \(request.uri.path)", "cause": "\(error)"])
            return Problem(500, "The server failed to answer this request; its log says why.")
        }
    }
}
