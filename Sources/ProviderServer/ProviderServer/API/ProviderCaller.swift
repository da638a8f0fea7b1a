import Console
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications
import CampaignStore

/// The sender of a request, identified by its bearer key or by a token of an identity provider.
enum ProviderCaller: Sendable {
    /// The request needs no key.
    case anybody
    /// The sender has the administrator's key.
    case administrator
    /// The sender is the backend of an app.
    case server(ProviderApp)
    /// The sender is an app on a device.
    case client(ProviderApp)
    /// The sender is an app on a device, and the organisation's identity provider says who its user is. Several apps
    /// may have the same identity provider; the request then names one of these.
    case user(String, apps: [ProviderApp])
}

/// The sender of a request about an installation.
enum Registrant: Sendable {
    /// The app's backend or the administrator, who may read and change all installations of the app.
    case backend
    /// The app on a device, with the digest of its installation's secret.
    case client(secret: [UInt8])
    /// The app on a device with a proven user. The secret is optional.
    case user(String, secret: [UInt8]?)
}

/// Identifies the sender of a request.
struct ProviderAccess: Sendable {
    let administratorKeyDigest: [UInt8]
    let apps: AppDirectory
    let identityKeys: IdentityKeyFiles
    let browser: BrowserRules
    let clock: ProviderClock

    func caller(of request: Request) throws(Problem) -> ProviderCaller {
        guard let field = request.headers[.authorization] else {
            // Only the administrator can make a link to the console, so its sessions may do what the administrator may.
            guard try session(of: request) != nil else { throw Self.keyMissing }
            return .administrator
        }
        guard let key = BearerCredentials.key(of: field) else { throw Self.keyMissing }
        // Digests are compared, so the time of a comparison reveals nothing about a key.
        let digest = AccessKey.digest(String(key))
        if digest == administratorKeyDigest { return .administrator }
        if let (app, role) = apps.app(keyDigest: digest) { return role == .server ? .server(app) : .client(app) }
        guard IdentityToken.isLikely(key) else { throw Problem(401, "The key is not known.") }
        return try user(of: try IdentityToken(key))
    }

    /// The console session of a request without a key; nil if it has none.
    /// - Throws: a problem with status 403 if the request does not come from the console's own page.
    func session(of request: Request) throws(Problem) -> ConsoleSessions.Name? {
        guard request.headers[.authorization] == nil,
            let session = browser.session(of: request.head, now: clock.now())
        else { return nil }
        if let refusal = browser.refusal(of: request.head) ?? browser.refusalOfSession(request.head) {
            throw Problem(403, refusal.detail)
        }
        return session
    }

    private static let keyMissing = Problem(
        401,
        "The request needs a key: Authorization: Bearer <key>; a browser is signed in by the link that carillon provider "
            + "console prints.")

    /// Verifies a token with the keys of each app that names its issuer and one of its audiences.
    private func user(of token: IdentityToken) throws(Problem) -> ProviderCaller {
        let known = apps.all.filter { app in
            app.identity.map { identity in
                identity.issuer.isSame(as: token.issuer) && token.audiences.containsExactly(identity.audience)
            } ?? false
        }
        guard !known.isEmpty else { throw IdentityToken.fault("has an issuer and an audience that no app accepts") }
        var results: [String: Bool] = [:]
        var unreadable: Problem?
        for file in Set(known.compactMap { $0.identity?.keysFile }) {
            do throws(Problem) {
                results[file] = try identityKeys.keysForRequest(file).verifies(token)
            } catch {
                // The file of another app may have the key.
                unreadable = error
            }
        }
        let accepting = known.filter { $0.identity.map { results[$0.keysFile] == true } ?? false }
        guard !accepting.isEmpty else {
            if let unreadable { throw unreadable }
            throw IdentityToken.fault("is not signed with a key that its issuer has now")
        }
        try token.checkTime(clock.now())
        return .user(token.subject, apps: accepting)
    }

    /// Returns the app that a request of a backend or of the administrator is about.
    /// - Parameter bundleID: the app that the body names. If it names none, the query may. The administrator has to name
    ///   one.
    func sendingApp(_ call: ProviderCall, bundleID: String? = nil) throws(Problem) -> ProviderApp {
        try sendingApp(call.caller, bundleID: bundleID ?? call.query("bundleID"))
    }

    private func sendingApp(_ caller: ProviderCaller, bundleID: String?) throws(Problem) -> ProviderApp {
        switch caller {
        case .administrator: return try named(bundleID)
        case .server(let app): return try Self.same(app, bundleID)
        case .client, .user: throw Self.onlyInstallations
        case .anybody: throw Self.keyMissing
        }
    }

    /// An app on a device asked for something that only its backend may do.
    static let onlyInstallations = Problem(403, "An app on a device may only register its installation.")

    /// Returns the app whose installation a request is about, and who sent the request.
    /// - Parameter secret: the digest of the secret in the request; nil if it has none.
    func registeringApp(
        _ caller: ProviderCaller,
        bundleID: String?,
        secret: [UInt8]?,
    ) throws(Problem) -> (app: ProviderApp, registrant: Registrant) {
        switch caller {
        case .anybody: throw Self.keyMissing
        case .administrator, .server:
            return (try sendingApp(caller, bundleID: bundleID), .backend)
        case .client(let app):
            guard let secret else {
                throw Problem(
                    401,
                    "An app names its installation's secret: Installation-Secret: 16 to 256 bytes that it chose once.")
            }
            return (try Self.same(app, bundleID), .client(secret: secret))
        case .user(let name, let apps):
            guard let bundleID else {
                guard let app = apps.first, apps.count == 1 else {
                    throw .invalid(
                        "/bundleID", "Several apps accept this token: bundleID names the app, here or in the query.")
                }
                return (app, .user(name, secret: secret))
            }
            guard let app = apps.first(where: { $0.bundleID == bundleID }) else {
                throw Problem(403, "The token is not for the app \(bundleID).", pointer: "/bundleID")
            }
            return (app, .user(name, secret: secret))
        }
    }

    private static func same(_ app: ProviderApp, _ bundleID: String?) throws(Problem) -> ProviderApp {
        guard bundleID == nil || bundleID == app.bundleID else {
            throw Problem(403, "The key is for the app \(app.bundleID) alone.", pointer: "/bundleID")
        }
        return app
    }

    private func named(_ bundleID: String?) throws(Problem) -> ProviderApp {
        guard let bundleID else {
            throw .invalid("/bundleID", "With the administrator's key, bundleID names the app, here or in the query.")
        }
        return try apps.existingApp(bundleID)
    }
}
