import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about installations. Apps describe themselves, and backends say who the user is.
extension ProviderServerAPI {
    private static let id = Parameter.path("id", .installation, "The installation.")
    private static let version = ["ETag": "The version of the installation, for If-Match."]

    static let installationOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .get, path: "/v1/installations",
            summary: "List an app's installations, or those of a user, also ended ones",
            parameters: Parameter.app + Parameter.page + [
                .query("user", .string(.any), "Only the installations of this user."), exportFormat,
            ],
            answer: .json(.page(of: ProviderMessages.Installation.schema), others: ListForm.allCases.map(\.rawValue)),
            problems: [404]
        ) { api, call in
            try await api.listInstallations(call)
        },
        ProviderOperation(
            method: .get, path: "/v1/installations/{id}", summary: "Show an installation",
            parameters: [id] + Parameter.app,
            answer: .json(ProviderMessages.Installation.schema), headers: version, problems: [404, 429], access: .anyKey
        ) { api, call in
            let (id, app, registrant) = try api.place(call)
            if case .backend = registrant {} else { try api.rates.checkReading(id, app: app.number, registrant) }
            let known = try await api.store.installation(id, app: app.number)
            return show(try owned(known, id, registrant).installation, app)
        },
        ProviderOperation(
            method: .put, path: "/v1/installations/{id}", summary: "Register an installation, or replace it",
            parameters: [id] + Parameter.app,
            body: Body(
                reading: ProviderMessages.InstallationRequest.schema,
                maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(ProviderMessages.Installation.schema), headers: version, problems: [404, 412, 413, 429],
            access: .anyKey
        ) { api, call in
            try await api.putInstallation(call)
        },
        ProviderOperation(
            method: .patch, path: "/v1/installations/{id}", summary: "Change an installation by a JSON Merge Patch",
            parameters: [id] + Parameter.app,
            body: Body(
                reading: ProviderMessages.InstallationRequest.patchSchema,
                maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(ProviderMessages.Installation.schema), headers: version, problems: [404, 412, 413, 429],
            access: .anyKey
        ) { api, call in
            try await api.patchInstallation(call)
        },
        ProviderOperation(
            method: .delete, path: "/v1/installations/{id}", summary: "Delete an installation",
            parameters: [id] + Parameter.app, answer: .nothing, problems: [404, 412, 429], access: .anyKey
        ) { api, call in
            try await api.deleteInstallation(call)
        },
    ]

    static let openedOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/installations/{id}/opened", summary: "Say that a notification was opened",
            parameters: [id] + Parameter.app,
            body: Body(
                reading: ProviderMessages.OpenedRequest.schema, maximumBytes: ProviderServerLimits.installationBytes),
            answer: .nothing, problems: [404, 413, 429], access: .anyKey
        ) { api, call in
            let (id, app, registrant) = try api.place(call)
            let request: ProviderMessages.OpenedRequest = try call.message()
            try api.rates.checkOpening(id, app: app.number, registrant)
            _ = try owned(try await api.store.installation(id, app: app.number), id, registrant)
            guard try await api.store.recordOpening(of: request.message, by: id, app: app.number, at: api.clock.now())
            else {
                throw Problem.notFound("The installation has got no message \(request.message.debugDescription).")
            }
            return Response(status: .noContent)
        }
    ]

    /// Returns the app and the installation that a request is about, and who sent it. If neither the key nor the body names
    /// the app, the query does.
    private func place(
        _ call: ProviderCall,
        bundleID: String? = nil,
    ) throws(Problem) -> (id: String, app: ProviderApp, registrant: Registrant) {
        let (app, registrant) = try access.registeringApp(
            call.caller, bundleID: bundleID ?? call.query("bundleID"), secret: Self.secret(call.request))
        return (try call.parameter("id"), app, registrant)
    }

    /// Answers with an installation. The header `ETag` names this version of it, for `If-Match`.
    private static func show(_ installation: Installation, _ app: ProviderApp) -> Response {
        var response = ProviderMessages.Installation(installation, bundleID: app.bundleID).json.response()
        response.headers[.eTag] = InstallationCondition.tag(installation, app.bundleID)
        return response
    }

    private static func noInstallation(_ id: String) -> Problem { .notFound("There is no installation \(id).") }

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
        guard let known else { throw noInstallation(id) }
        switch registrant {
        case .backend: return known
        case .client(let secret):
            guard known.secretDigest == secret else {
                throw Problem(403, "The secret is not the one that the installation was made with.")
            }
        case .user(let name, let secret):
            let user = known.installation.user
            // An installation without a user belongs to whoever has its secret.
            guard user.isSame(as: name) || (user == nil && secret != nil && known.secretDigest == secret) else {
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
            guard app.acceptsClaimedUsers || new.map({ old.isSame(as: $0) }) ?? true else {
                throw Problem(
                    403, "The app's backend says who the user is, with PATCH and its own key.", pointer: "/user")
            }
        case .user(let name, _):
            guard new.map({ $0.isSame(as: name) }) ?? true else {
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

    private func putInstallation(_ call: ProviderCall) async throws -> Response {
        let named = try ProviderMessages.InstallationRequest(call.document).bundleID
        let (id, app, registrant) = try place(call, bundleID: named)
        let now = clock.now()
        try rates.checkChange(id, app: app.number, registrant)
        let changes = try InstallationChanges(call.document, by: registrant)
        let new = try changes.replacement(id, now: now)
        try app.checkEnvironment(new.installation.environment)
        let condition = try InstallationCondition(call.request)
        func put(isNewAllowed: Bool) async throws -> StoredInstallation? {
            try await store.changeInstallation(id, app: app.number) { known in
                guard known != nil || isNewAllowed else { throw NewInstallation() }
                let complete = changes.complete(new, from: known?.installation)
                let replacement = try Self.replacement(of: known, with: complete, app, registrant)
                try condition.check(known?.installation, app.bundleID)
                return .put(replacement)
            }
        }
        let isBackend = if case .backend = registrant { true } else { false }
        let stored: StoredInstallation?
        do {
            stored = try await put(isNewAllowed: isBackend)
        } catch is NewInstallation {
            // Count it here, and not in the transaction, which the store may repeat.
            try rates.checkAddition(app: app.number, registrant)
            stored = try await put(isNewAllowed: true)
        }
        return Self.show(stored?.installation ?? new.installation, app)
    }

    /// An installation is new, and nobody has counted it yet.
    private struct NewInstallation: Error {}

    private func patchInstallation(_ call: ProviderCall) async throws -> Response {
        let (id, app, registrant) = try place(call)
        let now = clock.now()
        try rates.checkChange(id, app: app.number, registrant)
        let changes = try InstallationChanges(call.document, by: registrant)
        let condition = try InstallationCondition(call.request)
        let stored = try await store.changeInstallation(id, app: app.number) { known in
            let stored = try Self.owned(known, id, registrant)
            let old = stored.installation
            try condition.check(old, app.bundleID)
            let new = try changes.patched(old, now: now, bundleID: app.bundleID)
            try app.checkEnvironment(new.environment)
            try Self.checkUser(new.user, old.user, app, registrant)
            return .put(StoredInstallation(new, secretDigest: stored.secretDigest))
        }
        guard let stored else { throw Self.noInstallation(id) }
        return Self.show(stored.installation, app)
    }

    private func deleteInstallation(_ call: ProviderCall) async throws -> Response {
        let (id, app, registrant) = try place(call)
        try rates.checkChange(id, app: app.number, registrant)
        let condition = try InstallationCondition(call.request)
        _ = try await store.changeInstallation(id, app: app.number) { known in
            let stored = try Self.owned(known, id, registrant)
            try condition.check(stored.installation, app.bundleID)
            return .delete
        }
        return Response(status: .noContent)
    }

    private func listInstallations(_ call: ProviderCall) async throws -> Response {
        let app = try access.sendingApp(call)
        let user = call.query("user")
        if let form = ListForm(of: call) {
            guard user == nil else { throw Problem(400, "An export has all installations: leave out user.") }
            return exportInstallations(form, of: app)
        }
        func json(_ found: Recipient) -> JSONValue {
            ProviderMessages.Installation(found.installation, bundleID: app.bundleID).json
        }
        if let user {
            // All on one page: a user has only a few devices.
            let found = try await store.installations(app: app.number, user: user, limit: call.limit)
            return Self.list(found.map(json))
        }
        let page = try await store.installations(app: app.number, after: call.after ?? 0, limit: call.limit)
        return Self.list(page.map(json), next: call.next(after: page, \.number))
    }
}
