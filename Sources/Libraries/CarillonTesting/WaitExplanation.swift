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

    /// - Returns: nil if the body is not such an answer.
    init?(_ body: String) {
        guard let answer = try? JSONValue.decode(body.utf8, as: Self.self) else { return nil }
        self = answer
    }

    func text(of pattern: RequestPattern, count: Int, timeout: Duration, url: String) -> String {
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
            lines.append("  The backend has sent nothing: it has to connect to \(url), and trust authorityPEM.")
        }
        return lines.joined(separator: "\n")
    }
}
