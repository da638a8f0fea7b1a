import Connections
import Foundation
import HTTPAPI
package import HTTPTypes
package import Notifications

/// Decides from a request's header whether a browser may send it. This is a value without side effects, and the only
/// place with these rules.
///
/// The rules keep out web pages, which can make any browser send requests. Each attack shows in the header: with DNS
/// rebinding `Host` has a foreign name, and a page of another site sends that site's `Origin`.
package struct BrowserRules: Sendable {
    /// Why a request is refused.
    package struct Refusal: Error, Sendable, Hashable {
        /// What is wrong and what to do, in one sentence for a person. The status is 403.
        package let detail: String
    }

    /// The allowed values of `Host` over the network: names and addresses in lower case.
    let hosts: Set<String>
    /// Whether `Host` may be any IP address. This is for a listener on all addresses of the machine. It is safe,
    /// because DNS rebinding needs a name.
    let allowsAddresses: Bool
    package let sessions: ConsoleSessions

    /// - Parameters:
    ///   - host: the listener's address.
    ///   - hostnames: more names of the service.
    ///   - sessions: the console's sessions.
    package init(host: String, hostnames: [String], sessions: ConsoleSessions) {
        let loopback = ["localhost", "127.0.0.1", "::1"]
        hosts = Set((loopback + [host] + hostnames).map { $0.lowercased() })
        allowsAddresses = host.isEveryAddress
        self.sessions = sessions
    }

    /// The reason to refuse a request because of the host that it names or the page that it comes from; nil if it is
    /// allowed.
    package func refusal(of request: HTTPRequest) -> Refusal? {
        guard let authority = request.authority else {
            return Refusal(detail: "The request names no host; send the header field Host.")
        }
        guard let host = HTTPAuthority(authority)?.host, allows(host) else {
            return Refusal(
                detail: "The request names another host than this service's; start the service with --hostname to add "
                    + "one.")
        }
        if let origin = request.headerFields[.origin], !Self.isSame(origin, authority) {
            return Refusal(detail: "The request comes from a page of another origin.")
        }
        return nil
    }

    /// The session of the request's cookie; nil if the request has no valid cookie.
    package func session(of request: HTTPRequest, now: Timestamp) -> ConsoleSessions.Name? {
        guard let authority = request.authority else { return nil }
        let name = ConsoleSessions.cookieName(authority) + "="
        for field in request.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = String(pair).trimmingBlanks
                // Another program on this host may have set a cookie of the same name, which comes first.
                guard pair.hasPrefix(name),
                    let session = sessions.session(cookie: String(pair.dropFirst(name.count)), now: now)
                else { continue }
                return session
            }
        }
        return nil
    }

    /// The reason to refuse a request of a session; nil if it is allowed.
    ///
    /// Browsers send the cookie with the requests of any page, and `SameSite` does not distinguish the ports of a
    /// host. So a request that can change something needs the console's own `Origin`. For other requests
    /// `Sec-Fetch-Site` says which page sent them.
    package func refusalOfSession(_ request: HTTPRequest) -> Refusal? {
        let site = request.headerFields[.fetchSite]
        let isRead = request.method == .get || request.method == .head
        guard isRead || request.headerFields[.origin] != nil, site == nil || site == "same-origin" || site == "none"
        else {
            return Refusal(detail: "Only the console's own pages may use its session.")
        }
        return nil
    }

    private func allows(_ host: String) -> Bool {
        hosts.contains(host) || host.hasSuffix(".localhost") || (allowsAddresses && host.isIPAddress)
    }

    /// Whether a page's origin is the service itself: the same host and port as in the request.
    private static func isSame(_ origin: String, _ authority: String) -> Bool {
        ["http://", "https://"].contains { origin.lowercased() == $0 + authority.lowercased() }
    }
}
