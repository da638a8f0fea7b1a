import Connections
import Crypto
import Foundation
import HTTPTypes
import Notifications
import Trust

/// Decides from a request's header whether the request is allowed. This is a value without side effects, and the only
/// place with these rules.
///
/// The rules keep out web pages, which can make any browser send requests. Each attack shows in the header: with DNS
/// rebinding `Host` has a foreign name, a page of another site sends that site's `Origin`, and a form cannot send
/// JSON.
struct AccessRules: Sendable {
    /// The allowed values of `Host` over the network: names and addresses in lower case.
    let hosts: Set<String>
    /// Whether `Host` may be any IP address. This is for a listener on all addresses of the machine. It is safe,
    /// because DNS rebinding needs a name.
    let allowsAddresses: Bool
    /// SHA-256 of the key. Digests are compared, so the time of a comparison reveals nothing about the key.
    private let keyDigest: SHA256.Digest
    private let sessions: ConsoleSessions

    /// - Parameters:
    ///   - host: the listener's address.
    ///   - hostnames: more names of the service.
    ///   - key: the key that `Authorization: Bearer` needs over TCP.
    ///   - sessions: the console's sessions. The cookie of a session replaces the key.
    init(host: String, hostnames: [String], key: String, sessions: ConsoleSessions = ConsoleSessions()) {
        let loopback = ["localhost", "127.0.0.1", "::1"]
        hosts = Set((loopback + [host] + hostnames).map { $0.lowercased() })
        allowsAddresses = host == "0.0.0.0" || host == "::"
        self.sessions = sessions
        keyDigest = SHA256.hash(data: Data(key.utf8))
    }

    /// The reason to refuse a request; nil if it is allowed.
    func refusal(
        of request: HTTPRequest,
        from caller: ManagementCaller,
        access: ManagementOperation.Access,
        now: Timestamp,
    ) -> Problem? {
        // Only requests to proxies contain a whole URL (RFC 9112, 3.2.2), which would name a second host beside
        // `Host`.
        guard request.path?.hasPrefix("/") == true else {
            return Problem(400, "The request's target has to be a path, as in /v1/teams.")
        }
        // This server uses the first `Host`. A proxy might use the second one (RFC 9112, 3.2), so refuse a request
        // with two.
        guard !request.headerFields.contains(where: { $0.name.canonicalName == "host" }) else {
            return Problem(400, "The request has more than one Host header field.")
        }
        switch caller {
        case .socket: return nil
        case .network(let isLoopback):
            if let problem = refusalOfBrowser(request) { return problem }
            switch access {
            case .everybody: return nil
            case .loopback where isLoopback: return nil
            case .loopback, .key:
                if showsKey(request) { return nil }
                guard session(of: request, from: caller, now: now) != nil else { return Self.keyMissing }
                return refusalOfSession(request)
            }
        case .certificate(let identity):
            if let problem = refusalOfBrowser(request) { return problem }
            guard access != .everybody else { return nil }
            guard let identity else { return Problem(403, "The request needs an administrator's certificate.") }
            guard Double(now.milliseconds) / 1000 <= identity.validUntil else {
                return Problem(403, "The administrator's certificate has expired.")
            }
            return nil
        }
    }

    private static let keyMissing = Problem(
        401,
        "The request needs the key in management.key: Authorization: Bearer <key>; a browser is signed in by the link that "
            + "carillon console prints.")

    /// The console session of the request's cookie; nil if the request has no valid cookie, or if it has the key.
    func session(of request: HTTPRequest, from caller: ManagementCaller, now: Timestamp) -> ConsoleSessions.Name? {
        guard case .network = caller, let authority = request.authority, !showsKey(request) else { return nil }
        let name = ConsoleSessions.cookieName(authority) + "="
        for field in request.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.trimmingCharacters(in: .whitespaces)
                guard pair.hasPrefix(name) else { continue }
                return sessions.session(cookie: String(pair.dropFirst(name.count)), now: now)
            }
        }
        return nil
    }

    /// Browsers send the cookie with the requests of any page, and `SameSite` does not distinguish the ports of a
    /// host. So a request that can change something needs the console's own `Origin`. For other requests
    /// `Sec-Fetch-Site` says which page sent them.
    private func refusalOfSession(_ request: HTTPRequest) -> Problem? {
        let site = request.headerFields[Self.fetchSite]
        let isRead = request.method == .get || request.method == .head
        guard isRead || request.headerFields[.origin] != nil, site == nil || site == "same-origin" || site == "none"
        else {
            return Problem(403, "Only the console's own pages may use its session.")
        }
        return nil
    }

    /// A static name, which is always allowed.
    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin

    private func refusalOfBrowser(_ request: HTTPRequest) -> Problem? {
        guard let authority = request.authority, let host = Self.host(of: authority), allows(host) else {
            return Problem(
                403,
                "The request names another host than this service's; start the service with --hostname to add one.")
        }
        if let origin = request.headerFields[.origin], !Self.isSame(origin, authority) {
            return Problem(403, "The request comes from a page of another origin.")
        }
        if let type = request.headerFields[.contentType], !Self.isJSON(type) {
            return Problem(415, "The body has to be JSON, with the content type application/json.")
        }
        return nil
    }

    private func allows(_ host: String) -> Bool {
        hosts.contains(host) || host.hasSuffix(".localhost") || (allowsAddresses && host.isIPAddress)
    }

    private func showsKey(_ request: HTTPRequest) -> Bool {
        guard let field = request.headerFields[.authorization] else { return false }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
        return SHA256.hash(data: Data(parts[1].utf8)) == keyDigest
    }

    /// The host in `host:port`, in lower case and without the brackets of an IPv6 address; nil if the text does not
    /// have this form.
    static func host(of authority: String) -> String? {
        let text = authority.lowercased()
        guard text.hasPrefix("[") else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let host = parts.first, !host.isEmpty else { return nil }
            return String(host)
        }
        guard let end = text.firstIndex(of: "]") else { return nil }
        return String(text[text.index(after: text.startIndex)..<end])
    }

    /// Whether a page's origin is the service itself: the same host and port as in the request.
    private static func isSame(_ origin: String, _ authority: String) -> Bool {
        ["http://", "https://"].contains { origin.lowercased() == $0 + authority.lowercased() }
    }

    private static func isJSON(_ type: String) -> Bool {
        let essence = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return essence == JSONAnswer.mediaType || essence == "application/merge-patch+json"
    }
}
