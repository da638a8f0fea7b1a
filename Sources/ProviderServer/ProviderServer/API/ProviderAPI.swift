import CampaignStore
import Console
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Notifications
import Storage

/// The operations of the API, and the objects that they use.
struct ProviderAPI: Sendable {
    let store: any CampaignStore
    let apps: AppDirectory
    let vault: CredentialVault
    let campaigns: CampaignScheduler
    let feedback: FeedbackScheduler
    let access: ProviderAccess
    let clock: ProviderClock
    let console: ProviderConsole
    let metrics: (@Sendable () -> String)?
    let rates: InstallationRates
    let logger: Logger

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: Problems(logger: logger))
        addService(to: router)
        addMetrics(to: router)
        addApps(to: router)
        addInstallations(to: router)
        addTransfer(to: router)
        addAudiences(to: router)
        addMessages(to: router)
        addHooks(to: router)
        addConsole(to: router)
        return router
    }

    /// Adds the health checks, which load balancers and people request.
    private func addService(to router: Router<BasicRequestContext>) {
        router.get("/health") { _, _ in (["status": "ok"] as JSONValue).response() }
        router.get("/ready") { _, _ in
            if let trouble = await store.trouble() { throw Problem(503, trouble.cause) }
            return (["status": "ready"] as JSONValue).response()
        }
    }

    private func addMetrics(to router: Router<BasicRequestContext>) {
        guard let metrics else { return }
        router.get("/metrics") { request, _ in
            try access.administrator(request)
            return Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics())))
        }
    }

    // MARK: Reading requests

    /// Reads the body as JSON.
    static func document(_ request: Request, upTo limit: Int) async throws(Problem) -> JSONValue {
        try json(try await bytes(request, upTo: limit))
    }

    static func json(_ bytes: [UInt8]) throws(Problem) -> JSONValue {
        let depth = APILimits.documentDepth
        guard let value = JSONValue(bytes, maximumDepth: depth) else {
            throw .invalid(
                "", "The body is not a JSON object, or objects and lists are nested in more than \(depth) levels.")
        }
        return value
    }

    static func bytes(_ request: Request, upTo limit: Int) async throws(Problem) -> [UInt8] {
        do {
            return Array(try await request.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem(413, "The body may have \(limit) bytes.")
        } catch {
            throw Problem(400, "The body did not arrive completely.")
        }
    }

    /// Reads a parameter of the path.
    static func parameter(_ name: String, _ context: BasicRequestContext) throws(Problem) -> String {
        guard let value = context.parameters.get(name)?.removingPercentEncoding, !value.isEmpty else {
            throw .notFound("There is nothing at this path.")
        }
        return value
    }

    static func query(_ name: String, _ request: Request) -> String? {
        request.uri.queryParameters[Substring(name)].map(String.init)
    }

    /// Reads the parameters `limit` and `after` of a list.
    static func page(_ request: Request) throws(Problem) -> (limit: Int, after: Int64?) {
        let limit = query("limit", request)
        guard let count = limit.map({ Int($0) }) ?? APILimits.listItems,
            (1...APILimits.listItems).contains(count)
        else { throw Problem(400, "limit has to be from 1 to \(APILimits.listItems).") }
        guard let after = query("after", request) else { return (count, nil) }
        guard let number = Int64(after), number >= 0 else { throw Problem(400, "after has to be what next was.") }
        return (count, number)
    }

    /// Answers with a page of a list. `next` is the value of `after` that requests the next page.
    static func list(_ items: [JSONValue], next: Int64?) -> Response {
        var members: [String: JSONValue] = ["items": .array(items)]
        // The number is sent as a text, because clients must not compute with it.
        members["next"] = next.map { .string(String($0)) }
        return JSONValue.object(members).response()
    }
}

/// Answers every error with a problem document. An unknown path is an error too.
private struct Problems: RouterMiddleware {
    let logger: Logger

    @concurrent func handle(
        _ request: Request,
        context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response,
    ) async throws -> Response {
        do {
            return try await next(request, context).protected()
        } catch {
            return Response(problem(error, request)).protected()
        }
    }

    private func problem(_ error: any Error, _ request: Request) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as StoreError: return Problem(error)
        case let error as HTTPError where error.status == .notFound:
            return .notFound("There is no \(request.method) \(request.uri.path) here.")
        case let error as HTTPError: return Problem(error.status.code, error.body ?? error.status.reasonPhrase)
        default:
            logger.error(
                "A request failed",
                metadata: ["request": "\(request.method) \(request.uri.path)", "cause": "\(error)"])
            return Problem(500, "The server failed to answer this request; its log says why.")
        }
    }
}

extension Problem {
    init(_ error: StoreError) {
        switch error.code {
        case .missing: self.init(404, error.cause)
        case .exists, .conflict, .ended, .revoked: self.init(409, error.cause)
        case .unknown, .unavailable, .unreadable: self.init(503, error.cause)
        }
    }
}
