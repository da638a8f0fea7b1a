import Foundation
import HTTPTypes
import Hummingbird
import Notifications
import ProviderStore

// Requests about installations. Apps describe themselves, and backends say who the user is.
extension ProviderAPI {
    func addInstallations(to router: Router<BasicRequestContext>) {
        router.get("/v1/installations") { request, _ in try await listInstallations(request) }
        router.get("/v1/installations/:id") { request, context in
            let (id, app, isClient) = try place(request, context)
            let known = try await store.installation(id, app: app.number)
            let stored = try Self.owned(known, id, isClient ? try Self.secret(request) : nil, isClient: isClient)
            return InstallationDocument.show(stored.installation, bundleID: app.bundleID).response()
        }
        router.put("/v1/installations/:id") { request, context in try await putInstallation(request, context) }
        router.patch("/v1/installations/:id") { request, context in try await patchInstallation(request, context) }
        router.delete("/v1/installations/:id") { request, context in
            let (id, app, isClient) = try place(request, context)
            try changes.check(id, app: app.number)
            let secret = isClient ? try Self.secret(request) : nil
            _ = try await store.changeInstallation(id, app: app.number) { known in
                _ = try Self.owned(known, id, secret, isClient: isClient)
                return .delete
            }
            return Response(status: .noContent)
        }
    }

    /// Returns the app and the installation that a request is about. If the key does not name the app, the query does.
    private func place(
        _ request: Request,
        _ context: BasicRequestContext,
        bundleID: String? = nil,
    ) throws(APIProblem) -> (id: String, app: ProviderApp, isClient: Bool) {
        let (app, isClient) = try access.registeringApp(
            request, bundleID: bundleID ?? Self.query("bundleID", request))
        let id = try Self.parameter("id", context)
        guard InstallationDocument.isIdentifier(id) else {
            throw APIProblem(
                400, "An identifier has 1 to \(ProviderServerLimits.identifierBytes) letters, digits and - _ .")
        }
        return (id, app, isClient)
    }

    // MARK: Ownership

    /// The digest of the secret that an app presents for its installation.
    private static func secret(_ request: Request) throws(APIProblem) -> [UInt8] {
        guard let text = request.headers[secretHeader], (16...ProviderServerLimits.valueBytes).contains(text.utf8.count)
        else {
            throw APIProblem(
                401, "An app names its installation's secret: Installation-Secret: 16 to 256 bytes that it chose once.")
        }
        return AccessKey.digest(text)
    }

    /// A static name, which is always allowed.
    private static let secretHeader = HTTPField.Name("Installation-Secret") ?? .authorization

    /// Returns an installation if the caller may read and change it. The app's key is on every device, so an app must
    /// also present the secret with which it registered this installation.
    private static func owned(
        _ known: StoredInstallation?,
        _ id: String,
        _ secret: [UInt8]?,
        isClient: Bool,
    ) throws(APIProblem) -> StoredInstallation {
        guard let known else { throw .notFound("There is no installation \(id).") }
        guard !isClient || (secret != nil && known.secretDigest == secret) else {
            throw APIProblem(403, "The secret is not the one that the installation was made with.")
        }
        return known
    }

    /// Rejects a change of the user by the app, unless the administrator allowed such changes. Anybody can read the key
    /// in an app, and could otherwise receive the notifications of any user whom they name.
    private static func checkUser(_ new: String?, _ old: String?, _ app: ProviderApp) throws(APIProblem) {
        guard app.acceptsClaimedUsers || new == nil || new == old else {
            throw APIProblem(
                403, "The app's backend says who the user is, with PATCH and its own key.", pointer: "/user")
        }
    }

    // MARK: Changes

    private func putInstallation(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        // The key is checked before the body is read.
        _ = try access.caller(of: request)
        let document = try InstallationDocument(
            try await Self.document(request, upTo: ProviderServerLimits.installationBytes))
        let (id, app, isClient) = try place(request, context, bundleID: try document.bundleID)
        let now = clock.now()
        try changes.check(id, app: app.number)
        var new = try document.installation(id, registered: now, now: now)
        guard app.endpoints[new.environment] != nil else {
            throw APIProblem.invalid("/environment", "The app has no \(new.environment.rawValue) environment.")
        }
        let secret = isClient ? try Self.secret(request) : nil
        let installation = new
        let stored = try await store.changeInstallation(id, app: app.number) { known in
            var installation = installation
            guard isClient else {
                return .put(StoredInstallation(installation, secretDigest: known?.secretDigest))
            }
            if let known {
                // The backend registered this installation. The device token proves that the caller is the app on that
                // device.
                let isFound = known.secretDigest == nil && known.installation.deviceToken == installation.deviceToken
                if !isFound { _ = try Self.owned(known, id, secret, isClient: true) }
            }
            try Self.checkUser(installation.user, known?.installation.user, app)
            // Keep the stored user if only the backend may set it.
            if !app.acceptsClaimedUsers { installation.user = known?.installation.user }
            return .put(StoredInstallation(installation, secretDigest: secret))
        }
        if let stored { new = stored.installation }
        return InstallationDocument.show(new, bundleID: app.bundleID).response()
    }

    private func patchInstallation(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (id, app, isClient) = try place(request, context)
        let patch = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let now = clock.now()
        try changes.check(id, app: app.number)
        let secret = isClient ? try Self.secret(request) : nil
        let stored = try await store.changeInstallation(id, app: app.number) { known in
            let stored = try Self.owned(known, id, secret, isClient: isClient)
            let old = stored.installation
            let document = try InstallationDocument(merging: patch, into: old)
            let bundleID = try document.bundleID
            guard bundleID == nil || bundleID == app.bundleID else {
                throw APIProblem.invalid("/bundleID", "An installation cannot move to another app.")
            }
            // An ended installation becomes active again only if the request contains a device token.
            let hasToken = if case .object(let members) = patch { members["deviceToken"] != nil } else { false }
            var new = try document.installation(id, registered: hasToken ? now : old.registered, now: now)
            if !hasToken { new.end = old.end }
            guard app.endpoints[new.environment] != nil else {
                throw APIProblem.invalid("/environment", "The app has no \(new.environment.rawValue) environment.")
            }
            if isClient { try Self.checkUser(new.user, old.user, app) }
            return .put(StoredInstallation(new, secretDigest: stored.secretDigest))
        }
        guard let stored else { throw APIProblem.notFound("There is no installation \(id).") }
        return InstallationDocument.show(stored.installation, bundleID: app.bundleID).response()
    }

    private func listInstallations(_ request: Request) async throws -> Response {
        let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
        if let form = ListForm(request.headers[.accept]) { return exportInstallations(form, of: app) }
        let (limit, after) = try Self.page(request)
        let page = try await store.installations(app: app.number, after: after ?? 0, limit: limit)
        return Self.list(
            page.map { InstallationDocument.show($0.installation, bundleID: app.bundleID) },
            next: page.count == limit ? page.last?.number : nil)
    }
}
