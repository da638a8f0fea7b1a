import APNSProvider
import Notifications

/// Texts about a request of the journal, for the messages of failed tests.
enum RequestLine {
    /// A request in one line, or a connection that failed before a request.
    static func text(of request: [String: JSONValue]) -> String {
        func text(_ key: String) -> String? { request[key]?.string }
        guard text("outcome") != "failed" else {
            return
                "#\(shown(request["number"])), a connection of \(text("client") ?? "a client") failed: \(text("cause") ?? "")"
        }
        let status = request["status"].map { ([shown($0)] + [text("reason")].compactMap { $0 }).joined(separator: " ") }
        var parts = ["#" + shown(request["number"]), status ?? "no answer yet"]
        if let outcome = text("outcome") { parts.append(outcome) }
        for key in ["topic", "token", "channel", "subscription"] {
            if let value = text(key) { parts.append("\(key) \(value)") }
        }
        if let payload = request["payload"] {
            parts.append("payload " + shown(payload))
        } else if let message = request["text"] {
            parts.append("text " + shown(message))
        } else {
            parts.append(text("protocol") == "webpush" ? "no text" : "no payload")
        }
        if let rule = text("rule") { parts.append("fault \(rule)") }
        return parts.joined(separator: ", ")
    }

    /// A value as JSON, with at most 300 characters of it.
    static func shown(_ value: JSONValue?) -> String {
        guard let text = value?.text else { return "nothing" }
        return text.count <= 300 ? text : text.prefix(300) + "…"
    }
}
