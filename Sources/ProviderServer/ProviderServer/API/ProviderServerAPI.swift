import CampaignStore
import Console
import HTTPAPI
import HTTPTypes
import Hummingbird
import Logging
import Notifications
import Storage

/// The operations of the API, and the objects that they use.
struct ProviderServerAPI: Sendable {
    let store: any CampaignStore
    let apps: AppDirectory
    let vault: CredentialVault
    let campaigns: CampaignScheduler
    let feedback: FeedbackScheduler
    let channels: BroadcastChannels
    let access: ProviderAccess
    let clock: ProviderClock
    let console: ProviderConsole
    let metrics: (@Sendable () -> String)?
    let rates: InstallationRates
    /// Whether an app's key may add hooks on this machine.
    let allowsLocalHooks: Bool
    let logger: Logger

    /// The operations, and the files of the console.
    func allRoutes() -> Router<BasicRequestContext> {
        let router = router()
        addConsole(to: router)
        return router
    }
}

typealias ProviderOperation = APIOperation<ProviderServerAPI>
typealias ProviderCall = Call<ProviderCaller>

extension ProviderCall {
    /// Reads the body by the declaration of its message. As in every other body, null counts as missing.
    func read<Message>(_ form: JSONForm<Message>) throws(Problem) -> Message {
        try form.read(document, nullIsMissing: true)
    }

    func message<Message: JSONMessage>() throws(Problem) -> Message { try read(Message.form) }
}

extension ProviderServerAPI: APIServer {
    typealias Context = BasicRequestContext
    typealias Access = ProviderRequirement
    typealias Caller = ProviderCaller

    /// In the order of docs/provider-server.md.
    static let operations: [ProviderOperation] =
        systemOperations + appOperations + installationOperations + openedOperations + transferOperations
        + audienceOperations
        + messageOperations + channelOperations + hookOperations + consoleOperations

    func caller(
        of request: Request,
        _ context: BasicRequestContext,
        _ access: ProviderRequirement,
    ) throws -> ProviderCaller {
        guard access != .nothing else { return .anybody }
        let caller = try self.access.caller(of: request)
        switch (access, caller) {
        case (.administrator, .administrator), (.anyKey, _), (.nothing, _): return caller
        case (.backend, .administrator), (.backend, .server): return caller
        case (.administrator, _): throw Problem(403, "The request needs the administrator's key.")
        case (.backend, _): throw ProviderAccess.onlyInstallations
        }
    }

    func problem(of error: any Error, isNamedInPath: Bool) -> Problem? { (error as? StoreError).map { Problem($0) } }
}

/// Which clients may send a request.
enum ProviderRequirement: OperationAccess {
    /// The request needs no key.
    case nothing
    case anyKey
    /// The key of an app's backend, or the administrator's.
    case backend
    case administrator

    static let usual = ProviderRequirement.backend
    static let unknownPath = ProviderRequirement.anyKey

    var needsKey: Bool { self != .nothing }
}

// MARK: - Health, metrics and the description

extension ProviderServerAPI {
    static let systemOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .get, path: "/health", summary: "Whether the server runs", answer: .json(ServerStatus.schema),
            access: .nothing
        ) { _, _ in .json(ServerStatus("ok")) },
        ProviderOperation(
            method: .get, path: "/ready", summary: "Whether the store can be written",
            answer: .json(ServerStatus.schema), access: .nothing
        ) { api, _ in
            if let trouble = await api.store.trouble() { throw Problem(503, trouble.cause) }
            return .json(ServerStatus("ready"))
        },
        ProviderOperation(
            method: .get, path: "/metrics", summary: "The metrics, in Prometheus' text format",
            answer: .other(["text/plain"]), problems: [404], access: .administrator
        ) { api, _ in
            guard let metrics = api.metrics else { throw Problem.notFound("This server has no metrics.") }
            return Response(.ok, "text/plain; version=0.0.4; charset=utf-8", text: metrics())
        },
        ProviderOperation(
            method: .get, path: "/openapi.json", summary: "This API's description",
            answer: .json(.named("OpenAPI", .openObject)), access: .nothing
        ) { _, _ in
            description.response()
        },
    ]

    static let description = OpenAPI<ProviderServerAPI>.document(
        title: "Carillon provider server",
        description: "Installations of apps, and messages to them.",
        key: "The administrator's key in provider.key, an app's server key or its client key, or a token of the app's "
            + "identity provider.")

    /// Answers with a page of a list. `next` is the value of `after` that requests the next page.
    static func list(_ items: [some JSONMessage], next: Int64? = nil) -> Response {
        list(items.map(\.json), next: next)
    }

    static func list(_ items: [JSONValue], next: Int64? = nil) -> Response {
        var members: [String: JSONValue] = ["items": .array(items)]
        // The number is sent as a text, because clients must not compute with it.
        members["next"] = next.map { .string(String($0)) }
        return JSONValue.object(members).response()
    }
}

extension ProviderApp {
    /// - Parameters:
    ///   - environment: nil if the document names none.
    ///   - pointer: the place of the environment in the document.
    func checkEnvironment(
        _ environment: Notifications.Environment?, at pointer: String = "/environment",
    ) throws(Problem) {
        guard let environment, endpoints[environment] == nil else { return }
        throw .invalid(pointer, "The app has no \(environment.rawValue) environment.")
    }
}

extension Parameter {
    /// The parameter that names the app. The administrator's key needs it.
    static let app: [Parameter] = [
        .query("bundleID", .string(.bundleID), ProviderMessages.meaningOfBundleID)
    ]

    /// The parameters of a list of pages.
    static let page: [Parameter] = [
        .limit, .query("after", .integer(0...Int64.max), "What `next` of the page before was."),
    ]
}

extension Call {
    /// The value of `after`; nil for the first page.
    var after: Int64? { query("after").flatMap { Int64($0) } }  // fits: nil if it does not

    /// The value of `after` for the page that follows `page`; nil if `page` is not full, because it is then the last.
    func next<Item>(after page: [Item], _ number: (Item) -> Int64) -> Int64? {
        page.count == limit ? page.last.map(number) : nil
    }
}
