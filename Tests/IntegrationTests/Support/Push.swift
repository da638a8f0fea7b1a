import Foundation
import Notifications
import Service

/// A request of the provider API, made by hand, so that it can be wrong in one way (Guide, Tables 8-1 and 8-2).
struct Push: Sendable {
    var method = "POST"
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]? = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    /// A valid request with the required values only.
    init(token: String, topic: String, authorization: String) {
        path = "/3/device/\(token)"
        headers = [("authorization", "bearer \(authorization)"), ("apns-topic", topic)]
    }

    init(token: String, topic: String, from provider: Provider) throws {
        self.init(token: token, topic: topic, authorization: try provider.token())
    }

    /// The value of a header; setting nil removes it.
    subscript(_ name: String) -> String? {
        get { headers.first { $0.name == name }?.value }
        set {
            headers.removeAll { $0.name == name }
            if let newValue { headers.append((name, newValue)) }
        }
    }

    mutating func payload(_ text: String) { body = Array(text.utf8) }

    /// Makes the payload exactly this long.
    mutating func payload(bytes: Int) {
        let (start, end) = (#"{"aps":{"alert":""#, #""}}"#)
        payload(start + String(repeating: "x", count: bytes - start.utf8.count - end.utf8.count) + end)
    }
}

extension CarillonProcess {
    /// Sends with curl.
    func send(_ push: Push, to environment: Environment = .development) async throws -> Curl.Response {
        try await Curl.request(
            push.method,
            "https://\(try addresses(environment).provider)\(push.path)",
            ca: ready.ca,
            headers: push.headers,
            body: push.body,
        )
    }

    /// Sends an alert to the app that the first start made.
    func send(
        alert: String,
        to token: String,
        topic: String? = nil,
        headers: [(name: String, value: String)] = [],
    ) async throws -> Curl.Response {
        let key = try developmentKey
        var push = try Push(token: token, topic: topic ?? key.bundleID ?? "", from: developmentProvider)
        push.headers += headers
        push.payload(#"{"aps":{"alert":"\#(alert)"}}"#)
        return try await send(push)
    }
}

extension Push {
    /// Writes the body to a file.
    func write(to path: String) throws {
        try Data(body ?? []).write(to: URL(fileURLWithPath: path))
    }
}
