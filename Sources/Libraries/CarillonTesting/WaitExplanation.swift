import APNSProvider
import Foundation
import Notifications

/// Says why a wait has failed, from the answer of the service.
struct WaitExplanation: Decodable {
    struct Miss: Decodable {
        let request: [String: JSONValue]
        let differs: [String]

        /// The value of a key of a match.
        func value(_ key: String) -> JSONValue? {
            // These are header fields of the request.
            let fields = ["pushType": "apns-push-type", "collapseID": "apns-collapse-id"]
            guard let field = fields[key], case .object(let headers)? = request["headers"] else { return request[key] }
            return headers[field]
        }
    }

    let matched: Int
    let nearest: [Miss]
    /// The newest connections that failed before a request, the newest first; nil from an older service.
    let failed: [[String: JSONValue]]?
    /// The number of the newest request for which the journal had no room any more; nil from an older service.
    let dropped: Int?

    /// - Returns: nil if the body is not such an answer.
    init?(_ body: String) {
        guard let answer = try? JSONValue.decode(body.utf8, as: Self.self) else { return nil }
        self = answer
    }

    /// - Parameter since: the number of the newest entry of the journal from before the test.
    func text(of pattern: RequestPattern, count: Int, timeout: Duration, in apns: TestAPNs, since: Int) -> String {
        var wanted = pattern.members
        let team = wanted.removeValue(forKey: "team")
        let match = wanted.isEmpty ? "" : " " + RequestLine.shown(.object(wanted))
        let expected = count > 0 ? "instead of \(count)" : "but none should"
        var lines = ["\(matched) requests matched\(match) within \(timeout), \(expected)."]
        // Requests of other tests' teams say nothing about this one.
        for miss in nearest where team == nil || miss.request["team"] == nil || miss.request["team"] == team {
            lines.append("  " + RequestLine.text(of: miss.request))
            for key in miss.differs {
                lines.append(
                    "    \(key) is \(RequestLine.shown(miss.value(key))), not \(RequestLine.shown(wanted[key]))")
            }
            if miss.differs.isEmpty { lines.append("    matches") }
        }
        if lines.count == 1, matched == 0 {
            let endpoint = apns.endpoint(of: pattern)
            // Without a request, the newest connection that failed says more than anything else.
            if let connection = failed?.first, connection["number"]?.double ?? 0 > Double(since) {
                let host = endpoint.flatMap { URL(string: $0)?.host } ?? apns.host
                lines.insert(Self.trouble(connection, host), at: 0)
            } else if let dropped, dropped > since {
                lines.append(
                    "  The journal has dropped requests since this test began, perhaps the backend's: start the service with a "
                        + "larger --journal.")
            } else {
                let place = endpoint.map { "send to \($0)" } ?? "connect to \(apns.url)"
                lines.append("  The backend has sent nothing: it has to \(place), and trust apns.authorityPEM.")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Alerts of a client that does not trust a certificate (RFC 8446, 6.2).
    private static let distrust: Set<String> = [
        "bad_certificate", "unsupported_certificate", "certificate_revoked", "certificate_expired",
        "certificate_unknown",
        "unknown_ca",
    ]

    /// A connection that failed before a request has no team, and tests that run at the same time may share the service.
    private static let whose = "a connection since this test began, perhaps another test's"

    /// A sentence about a connection that failed before a request: what is wrong, and what to do.
    private static func trouble(_ connection: [String: JSONValue], _ host: String) -> String {
        let alert = connection["alert"]?.string
        let cause = connection["cause"]?.string ?? ""
        if case .array(let offered)? = connection["protocols"] {
            let names = offered.compactMap(\.string).joined(separator: ", ")
            let how = names.isEmpty ? "it sent a request of HTTP/1" : "it offered only \(names)"
            return
                "The backend does not speak HTTP/2 (\(whose): \(how)): APNs takes nothing else, so send with a client for "
                + "HTTP/2."
        }
        let isDistrust = alert.map(distrust.contains) ?? cause.hasPrefix("the client ended the connection")
        guard isDistrust else {
            return "A connection of \(connection["client"]?.string ?? "a client") failed (\(whose)): \(cause)."
        }
        let how = alert.map { "its alert is \($0)" } ?? cause
        return
            "The backend does not trust the service (\(whose): \(how)): let it trust the authority in apns.authorityPEM, "
            + "and connect to \(host)."
    }
}
