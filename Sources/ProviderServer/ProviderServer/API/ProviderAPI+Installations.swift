import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about installations. Apps describe themselves, and backends say who the user is.
extension ProviderAPI {
    func addInstallations(to router: Router<BasicRequestContext>) {
        router.get("/v1/installations") { request, _ in try await listInstallations(request) }
        router.get("/v1/installations/:id") { request, context in
            let (id, app, registrant) = try place(request, context, try access.caller(of: request))
            if case .backend = registrant {} else { try rates.checkReading(id, app: app.number, registrant) }
            let known = try await store.installation(id, app: app.number)
            let stored = try Self.owned(known, id, registrant)
            return InstallationDocument.show(stored.installation, bundleID: app.bundleID).response()
        }
        router.put("/v1/installations/:id") { request, context in try await putInstallation(request, context) }
        router.patch("/v1/installations/:id") { request, context in try await patchInstallation(request, context) }
        router.delete("/v1/installations/:id") { request, context in
            let (id, app, registrant) = try place(request, context, try access.caller(of: request))
            try rates.checkChange(id, app: app.number, registrant)
            _ = try await store.changeInstallation(id, app: app.number) { known in
                _ = try Self.owned(known, id, registrant)
                return .delete
            }
            return Response(status: .noContent)
        }
    }

    /// Returns the app and the installation that a request is about, and who sent it. If the key does not name the app,
    /// the query does.
    private func place(
        _ request: Request,
        _ context: BasicRequestContext,
        _ caller: ProviderCaller,
        bundleID: String? = nil,
    ) throws(Problem) -> (id: String, app: ProviderApp, registrant: Registrant) {
        let (app, registrant) = try access.registeringApp(
            caller, bundleID: bundleID ?? Self.query("bundleID", request), secret: Self.secret(request))
        let id = try Self.parameter("id", context)
        guard InstallationDocument.isIdentifier(id) else {
            throw Problem(
                400, "An identifier has 1 to \(ProviderServerLimits.identifierBytes) letters, digits and - _ .")
        }
        return (id, app, registrant)
    }

    // MARK: Ownership

    /// Returns the digest of the secret that an app presents for its installation; nil if there is none, or one that is
    /// too short or too long.
    private static func secret(_ request: Request) -> [UInt8]? {
        guard let text = request.headers[.installationSecret],
            (16...ProviderServerLimits.valueBytes).contains(text.utf8.count)
        else { return nil }
        return AccessKey.digest(text)
    }

    /// Returns an installation if the sender may read and change it. The app's key is on every device, so an app must
    /// also present the secret with which it registered this installation, or a token of the installation's user.
    private static func owned(
        _ known: StoredInstallation?,
        _ id: String,
        _ registrant: Registrant,
    ) throws(Problem) -> StoredInstallation {
        guard let known else { throw .notFound("There is no installation \(id).") }
        switch registrant {
        case .backend: return known
        case .client(let secret):
            guard known.secretDigest == secret else {
                throw Problem(403, "The secret is not the one that the installation was made with.")
            }
        case .user(let name, let secret):
            let user = known.installation.user
            // An installation without a user belongs to whoever has its secret.
            guard user == name || (user == nil && secret != nil && known.secretDigest == secret) else {
                throw Problem(403, "The installation belongs to another user.")
            }
        }
        return known
    }

    /// Rejects a change of the user by the app, unless the administrator allowed such changes. Anybody can read the key
    /// in an app, and could otherwise receive the notifications of any user whom they name. A token proves one user.
    private static func checkUser(
        _ new: String?,
        _ old: String?,
        _ app: ProviderApp,
        _ registrant: Registrant,
    ) throws(Problem) {
        switch registrant {
        case .backend: return
        case .client:
            guard app.acceptsClaimedUsers || new == nil || new == old else {
                throw Problem(
                    403, "The app's backend says who the user is, with PATCH and its own key.", pointer: "/user")
            }
        case .user(let name, _):
            guard new == nil || new == name else {
                throw Problem(403, "The token is of the user \(name).", pointer: "/user")
            }
        }
    }

    /// Returns the installation to store for a `PUT`.
    private static func replacement(
        of known: StoredInstallation?,
        with new: Installation,
        _ app: ProviderApp,
        _ registrant: Registrant,
    ) throws(Problem) -> StoredInstallation {
        var installation = new
        // If nobody has a secret for it, the device token proves that the sender is the app on that device.
        let isFound = known.map { $0.secretDigest == nil && $0.installation.deviceToken == new.deviceToken } ?? true
        try checkUser(new.user, known?.installation.user, app, registrant)
        switch registrant {
        case .backend:
            return StoredInstallation(installation, secretDigest: known?.secretDigest)
        case .client(let secret):
            if !isFound { _ = try owned(known, new.id, registrant) }
            // Keep the stored user if only the backend may set it.
            if !app.acceptsClaimedUsers { installation.user = known?.installation.user }
            return StoredInstallation(installation, secretDigest: secret)
        case .user(let name, let secret):
            // Somebody else may sign in on a device: the secret proves that it is the same installation.
            let isSame = secret != nil && known?.secretDigest == secret
            if !isFound, !isSame { _ = try owned(known, new.id, registrant) }
            installation.user = name
            return StoredInstallation(installation, secretDigest: secret ?? known?.secretDigest)
        }
    }

    // MARK: Changes

    private func putInstallation(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        // The key is checked before the body is read.
        let caller = try access.caller(of: request)
        let document = try InstallationDocument(
            try await Self.document(request, upTo: ProviderServerLimits.installationBytes))
        let (id, app, registrant) = try place(request, context, caller, bundleID: try document.bundleID)
        let now = clock.now()
        try rates.checkChange(id, app: app.number, registrant)
        let new = try document.installation(id, registered: now, now: now)
        guard app.endpoints[new.environment] != nil else {
            throw Problem.invalid("/environment", "The app has no \(new.environment.rawValue) environment.")
        }
        let isBackend = if case .backend = registrant { true } else { false }
        let stored: StoredInstallation?
        do {
            stored = try await put(new, app, registrant, isNewAllowed: isBackend)
        } catch is NewInstallation {
            // Count it here, and not in the transaction, which the store may repeat.
            try rates.checkAddition(app: app.number, registrant)
            stored = try await put(new, app, registrant, isNewAllowed: true)
        }
        return InstallationDocument.show(stored?.installation ?? new, bundleID: app.bundleID).response()
    }

    /// An installation is new, and nobody has counted it yet.
    private struct NewInstallation: Error {}

    private func put(
        _ new: Installation,
        _ app: ProviderApp,
        _ registrant: Registrant,
        isNewAllowed: Bool,
    ) async throws -> StoredInstallation? {
        try await store.changeInstallation(new.id, app: app.number) { known in
            guard known != nil || isNewAllowed else { throw NewInstallation() }
            return .put(try Self.replacement(of: known, with: new, app, registrant))
        }
    }

    private func patchInstallation(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (id, app, registrant) = try place(request, context, try access.caller(of: request))
        let patch = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let now = clock.now()
        try rates.checkChange(id, app: app.number, registrant)
        let stored = try await store.changeInstallation(id, app: app.number) { known in
            let stored = try Self.owned(known, id, registrant)
            let old = stored.installation
            let document = try InstallationDocument(merging: patch, into: old)
            let bundleID = try document.bundleID
            guard bundleID == nil || bundleID == app.bundleID else {
                throw Problem.invalid("/bundleID", "An installation cannot move to another app.")
            }
            // An ended installation becomes active again only if the request contains a device token.
            let hasToken = if case .object(let members) = patch { members["deviceToken"] != nil } else { false }
            var new = try document.installation(id, registered: hasToken ? now : old.registered, now: now)
            if !hasToken { new.end = old.end }
            guard app.endpoints[new.environment] != nil else {
                throw Problem.invalid("/environment", "The app has no \(new.environment.rawValue) environment.")
            }
            try Self.checkUser(new.user, old.user, app, registrant)
            return .put(StoredInstallation(new, secretDigest: stored.secretDigest))
        }
        guard let stored else { throw Problem.notFound("There is no installation \(id).") }
        return InstallationDocument.show(stored.installation, bundleID: app.bundleID).response()
    }

    private func listInstallations(_ request: Request) async throws -> Response {
        let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
        let user = Self.query("user", request)
        if let form = try ListForm(of: request) {
            guard user == nil else { throw Problem(400, "An export has all installations: leave out user.") }
            return exportInstallations(form, of: app)
        }
        let (limit, after) = try Self.page(request)
        if let user {
            // All on one page: a user has only a few devices.
            let found = try await store.installations(app: app.number, user: user, limit: limit)
            return Self.list(
                found.map { InstallationDocument.show($0.installation, bundleID: app.bundleID) }, next: nil)
        }
        let page = try await store.installations(app: app.number, after: after ?? 0, limit: limit)
        return Self.list(
            page.map { InstallationDocument.show($0.installation, bundleID: app.bundleID) },
            next: page.count == limit ? page.last?.number : nil)
    }
}
