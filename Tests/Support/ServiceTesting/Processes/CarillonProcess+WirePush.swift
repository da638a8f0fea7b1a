import CommonTesting
import Foundation
import Notifications
import Service

extension CarillonProcess {
    /// Sends with curl.
    func send(_ push: WirePush, to environment: Environment = .development) async throws -> Curl.Response {
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
        var push = try WirePush(token: token, topic: topic ?? key.bundleID ?? "", from: developmentProvider)
        push.headers += headers
        push.payload(#"{"aps":{"alert":"\#(alert)"}}"#)
        return try await send(push)
    }
}

extension CarillonProcess {
    /// A provider's connection in the development environment.
    func connect() async throws -> WireClient {
        try await WireClient.connect(port: try port(of: addresses(.development).provider), authorityFile: ready.ca)
    }

    func port(of address: String) throws -> Int {
        try address.split(separator: ":").last.flatMap { Int($0) }.orThrow("no port: \(address)")
    }
}

extension WirePush {
    /// Writes the body to a file.
    func write(to path: String) throws {
        try Data(body ?? []).write(to: URL(fileURLWithPath: path))
    }
}
