import Console
import Credentials
package import HTTPAPI
import HTTPTypes
package import Hummingbird
import Notifications
import Storage

/// Finds the operation of a request. Every error becomes a ``Problem``.
struct ManagementRouter: Sendable {
    private let api: ManagementAPI
    private let responder: RouterResponder<ManagementContext>

    init(_ api: ManagementAPI) {
        self.api = api
        let router = api.router()
        ConsoleSite.management.add(to: router, sessions: api.console, isSecure: false, now: { api.now }) {
            request, context in
            _ = try api.caller(of: request, context, .loopback)
        }
        responder = router.buildResponder()
    }

    /// Answers a request.
    /// - Throws: never, because the router answers every error.
    func respond(to request: Request, _ context: ManagementContext) async throws -> Response {
        var response = try await responder.respond(to: request, context: context)
        response.headers[.date] = HTTPDate.text(of: api.now)
        return response
    }
}

extension ManagementAPI: APIServer {
    package static var operations: [ManagementOperation] { ManagementOperations.all }

    package func caller(
        of request: Request, _ context: ManagementContext, _ access: ManagementAccess
    ) throws -> ManagementSender {
        // Count them before anything else is done for them, also those to paths that do not exist.
        if case .network = context.caller, !context.rules.isKnown(request.head, from: context.caller, now: now),
            !admitsWithoutKey(path: request.uri.path)
        {
            throw Problem(429, "Too many requests come without a key: show it, or wait a moment.")
        }
        let refusal = context.rules.refusal(
            of: request.head, from: context.caller, access: access, trust: AdministratorTrust(accounts), now: now)
        if let refusal { throw refusal }
        return ManagementSender(
            context.caller, session: context.rules.session(of: request.head, from: context.caller, now: now),
            connectionEnd: context.connectionEnd, self)
    }

    package func problem(of error: any Error, isNamedInPath: Bool) -> Problem? {
        switch error {
        case let error as StoreError: Problem(error, isNamedInPath: isNamedInPath)
        case let error as TrustError: Problem(400, error.reason)
        default: nil
        }
    }
}
