import Console
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Notifications
import Storage
import Trust

/// Finds the operation of a request, applies the access rules, and turns every error into a ``Problem``.
struct ManagementRouter: Sendable {
    private let api: ManagementAPI
    private let responder: RouterResponder<ManagementContext>

    init(_ api: ManagementAPI) {
        self.api = api
        let router = Router(context: ManagementContext.self)
        router.add(middleware: UnknownPaths(api: api))
        for (path, operations) in Dictionary(grouping: ManagementOperation.all, by: \.path) {
            Self.add(operations, at: path, to: router, api)
        }
        ConsoleSite.management.add(to: router, sessions: api.console, isSecure: false, now: { api.now }) {
            request, context in
            if let problem = context.refusal(of: request, access: .loopback, api) { throw problem }
        }
        responder = router.buildResponder()
    }

    /// Adds all operations of one path, and a `HEAD` for each `GET`.
    private static func add(
        _ operations: [ManagementOperation],
        at path: String,
        to router: Router<ManagementContext>,
        _ api: ManagementAPI,
    ) {
        let route = RouterPath(path.replacing("{", with: ":").replacing("}", with: ""))
        for operation in operations {
            router.on(route, method: operation.method) { request, context in
                try await perform(operation, request, context, api)
            }
            guard operation.method == .get else { continue }
            router.on(route, method: .head) { request, context in
                try await perform(operation, request, context, api).createHeadResponse()
            }
        }
    }

    private static func perform(
        _ operation: ManagementOperation,
        _ request: Request,
        _ context: ManagementContext,
        _ api: ManagementAPI,
    ) async throws -> Response {
        if let problem = context.refusal(of: request, access: operation.access, api) { throw problem }
        do {
            let call = try await ManagementCall(request, operation, context, api)
            // The client's certificate or session may have been revoked while the body arrived.
            if let problem = context.refusal(of: request, access: operation.access, api) { throw problem }
            return try await operation.perform(api, call)
        } catch let error as StoreError {
            throw Problem(error, isNamedInPath: operation.parameters.contains { $0.place == .path })
        }
    }

    /// Answers a request. It never throws.
    func respond(to request: Request, _ context: ManagementContext) async -> Response {
        var response: Response
        do {
            response = try await responder.respond(to: request, context: context)
        } catch {
            response = JSONAnswer.make(problem(of: error, request, context))
        }
        response.headers[.date] = HTTPDate.text(of: api.now)
        // Tell browsers not to cache an answer, not to guess another media type, and not to embed it in pages of
        // other origins.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[Self.resourcePolicy] = "same-origin"
        return response
    }

    /// This literal is always a valid name.
    private static let resourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy") ?? .vary

    private func problem(of error: any Error, _ request: Request, _ context: ManagementContext) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as TrustError: return Problem(400, error.reason)
        case let error as HTTPError: return Problem(Int(error.status.code), error.body ?? error.status.reasonPhrase)
        default:
            context.logger.error(
                "A management request failed",
                metadata: ["request": "\(request.method) \(request.uri.path)", "cause": "\(error)"])
            return Problem(500, "The service failed to answer this request; its log says why.")
        }
    }
}

extension Problem {
    /// - Parameter isNamedInPath: whether the path names the missing item. If so, the status is 404.
    init(_ error: StoreError, isNamedInPath: Bool) {
        switch error.code {
        case .missing: self.init(isNamedInPath ? 404 : 409, error.cause)
        case .exists, .conflict, .ended, .revoked: self.init(409, error.cause)
        case .unknown, .unavailable, .unreadable: self.init(503, error.cause)
        }
    }
}

/// Answers requests with an unknown path or method with a ``Problem``. Clients without access get the same answer for
/// every path, so they cannot find out which paths exist.
private struct UnknownPaths: RouterMiddleware {
    let api: ManagementAPI

    @concurrent func handle(
        _ request: Request,
        context: ManagementContext,
        next: @concurrent (Request, ManagementContext) async throws -> Response,
    ) async throws -> Response {
        let path = request.head.path?.prefix { $0 != "?" } ?? ""
        do {
            // Without this check, `/v1/teams/` with an empty name would be taken for the list `/v1/teams`.
            guard !path.contains("//"), path == "/" || !path.hasSuffix("/") else { throw HTTPError(.notFound) }
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            if let problem = context.refusal(of: request, access: .key, api) { throw problem }
            let methods = ManagementOperation.all.filter { $0.matches(path) }
                .map(\.method.rawValue)
            guard methods.isEmpty else {
                let head = methods.contains(HTTPRequest.Method.get.rawValue) ? [HTTPRequest.Method.head.rawValue] : []
                throw Problem.methodNotAllowed(request.method.rawValue, allowed: (methods + head).sorted())
            }
            throw Problem.notFound("There is no \(request.uri.path) here; /openapi.json describes what there is.")
        }
    }
}

extension ManagementOperation {
    /// Whether a request's path matches the operation's path.
    fileprivate func matches(_ path: some StringProtocol) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let pattern = self.path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == pattern.count
            && zip(parts, pattern).allSatisfy { part, expected in
                expected.hasPrefix("{") ? !part.isEmpty : part == expected
            }
    }
}
