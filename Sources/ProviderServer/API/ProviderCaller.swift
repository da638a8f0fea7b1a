import HTTPTypes
import Hummingbird
import NIOCore
import ProviderStore

/// The sender of a request, identified by its bearer key.
enum ProviderCaller: Sendable {
    /// The sender has the administrator's key.
    case administrator
    /// The sender is the backend of an app.
    case server(ProviderApp)
    /// The sender is an app on a device.
    case client(ProviderApp)
}

/// Identifies the sender of a request.
struct ProviderAccess: Sendable {
    let administratorKeyDigest: [UInt8]
    let apps: AppDirectory

    func caller(of request: Request) throws(APIProblem) -> ProviderCaller {
        guard let field = request.headers[.authorization] else { throw Self.keyMissing }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Self.keyMissing }
        // Digests are compared, so the time of a comparison reveals nothing about a key.
        let digest = AccessKey.digest(String(parts[1]))
        if digest == administratorKeyDigest { return .administrator }
        guard let (app, role) = apps.app(keyDigest: digest) else { throw APIProblem(401, "The key is not known.") }
        return role == .server ? .server(app) : .client(app)
    }

    private static let keyMissing = APIProblem(401, "The request needs a key: Authorization: Bearer <key>.")

    /// Throws an error unless the sender is the administrator.
    func administrator(_ request: Request) throws(APIProblem) {
        guard case .administrator = try caller(of: request) else {
            throw APIProblem(403, "The request needs the administrator's key.")
        }
    }

    /// Returns the app that a request of a backend or of the administrator is about.
    /// - Parameter bundleID: the app that the request names. The administrator has to name one.
    func sendingApp(_ request: Request, bundleID: String?) throws(APIProblem) -> ProviderApp {
        switch try caller(of: request) {
        case .administrator: return try named(bundleID)
        case .server(let app): return try Self.same(app, bundleID)
        case .client: throw APIProblem(403, "The key of an app on devices may only register installations.")
        }
    }

    /// Returns the app whose installation a request is about, and whether the app itself sent the request.
    func registeringApp(
        _ request: Request,
        bundleID: String?,
    ) throws(APIProblem) -> (app: ProviderApp, isClient: Bool) {
        if case .client(let app) = try caller(of: request) { return (try Self.same(app, bundleID), true) }
        return (try sendingApp(request, bundleID: bundleID), false)
    }

    private static func same(_ app: ProviderApp, _ bundleID: String?) throws(APIProblem) -> ProviderApp {
        guard bundleID == nil || bundleID == app.bundleID else {
            throw APIProblem(403, "The key is for the app \(app.bundleID) alone.", pointer: "/bundleID")
        }
        return app
    }

    private func named(_ bundleID: String?) throws(APIProblem) -> ProviderApp {
        guard let bundleID else {
            throw .invalid("/bundleID", "With the administrator's key, bundleID names the app, here or in the query.")
        }
        guard let app = apps.app(bundleID) else { throw .notFound("There is no app \(bundleID).") }
        return app
    }
}
