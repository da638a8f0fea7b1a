import Console
import Crypto
import Foundation
import HTTPAPI
import HTTPTypes
import Notifications
import Trust

/// Decides from a request's header whether the request is allowed. This is a value without side effects.
/// ``BrowserRules`` keeps out web pages, which can make any browser send requests. Beyond them, the content type is
/// checked here, because a form cannot send JSON.
struct AccessRules: Sendable {
    private let browser: BrowserRules
    /// SHA-256 of the key. Digests are compared, so the time of a comparison reveals nothing about the key.
    private let keyDigest: SHA256.Digest
    private let isInMemory: Bool

    /// - Parameters:
    ///   - host: the listener's address.
    ///   - hostnames: more names of the service.
    ///   - key: the key that `Authorization: Bearer` needs over TCP.
    ///   - isInMemory: whether the store is in memory, so that the service is one for tests.
    ///   - sessions: the console's sessions. The cookie of a session replaces the key.
    init(
        host: String,
        hostnames: [String],
        key: String,
        isInMemory: Bool = false,
        sessions: ConsoleSessions = ConsoleSessions(),
    ) {
        self.isInMemory = isInMemory
        browser = BrowserRules(host: host, hostnames: hostnames, sessions: sessions)
        keyDigest = SHA256.hash(data: Data(key.utf8))
    }

    /// The reason to refuse a request; nil if it is allowed.
    /// - Parameter trust: what this node knows about administrators' certificates.
    func refusal(
        of request: HTTPRequest,
        from caller: ManagementCaller,
        access: ManagementAccess,
        trust: AdministratorTrust,
        now: Timestamp,
    ) -> Problem? {
        switch caller {
        case .socket: return nil
        case .network(let isLoopback):
            if let problem = refusalOfBrowser(request) { return problem }
            switch access {
            case .everybody: return nil
            case .loopback where isLoopback: return nil
            case .loopbackOrMemory where isLoopback || isInMemory: return nil
            case .loopback, .loopbackOrMemory, .key:
                if showsKey(request) { return nil }
                guard session(of: request, from: caller, now: now) != nil else { return Self.keyMissing }
                return browser.refusalOfSession(request).map(Problem.init)
            }
        case .certificate(let identity):
            if let problem = refusalOfBrowser(request) { return problem }
            guard access != .everybody, access != .loopbackOrMemory || !isInMemory else { return nil }
            guard let identity else { return Problem(403, "The request needs an administrator's certificate.") }
            if let problem = trust.refusal(of: identity, now: now) { return problem }
            // The metrics name no device, app or team, and are most needed when the store cannot be reached.
            return access == .loopback ? nil : trust.doubt
        }
    }

    private static let keyMissing = Problem(
        401,
        "The request needs the key in management.key: Authorization: Bearer <key>; a browser is signed in by the link that "
            + "carillon console prints.")

    /// Whether the request shows the key or a session, whatever else is wrong with it.
    func isKnown(_ request: HTTPRequest, from caller: ManagementCaller, now: Timestamp) -> Bool {
        showsKey(request) || session(of: request, from: caller, now: now) != nil
    }

    /// The console session of the request's cookie. Nil if the cookie is missing or invalid, if the request shows the
    /// key in `Authorization`, and for every caller that does not come over the network.
    func session(of request: HTTPRequest, from caller: ManagementCaller, now: Timestamp) -> ConsoleSessions.Name? {
        guard case .network = caller, !showsKey(request) else { return nil }
        return browser.session(of: request, now: now)
    }

    private func refusalOfBrowser(_ request: HTTPRequest) -> Problem? {
        if let refusal = browser.refusal(of: request) { return Problem(refusal) }
        if let type = request.headerFields[.contentType], !Self.isJSON(type) {
            return Problem(415, "The body has to be JSON, with the content type application/json.")
        }
        return nil
    }

    private func showsKey(_ request: HTTPRequest) -> Bool {
        guard let field = request.headerFields[.authorization] else { return false }
        guard let key = BearerCredentials.key(of: field) else { return false }
        return SHA256.hash(data: Data(key.utf8)) == keyDigest
    }

    private static func isJSON(_ type: String) -> Bool {
        let essence = MediaType.essence(of: type)
        return essence == MediaType.json || essence == "application/merge-patch+json"
    }
}

extension Problem {
    fileprivate init(_ refusal: BrowserRules.Refusal) { self.init(403, refusal.detail) }
}
