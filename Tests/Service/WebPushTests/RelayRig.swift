import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// A service with the relay's URL for its app, whose upstream is a second service in the place of Apple's.
struct RelayRig: Sendable {
    let service: PushedService
    let apple: TestService

    var gateway: TestService { service.test }

    static let fields = [("Content-Encoding", "aes128gcm")]

    static func run(
        settings: @escaping @Sendable (inout Settings) throws -> Void = { _ in },
        isHTTP2: Bool = true,
        relay: String? = #"{"relayTo":true}"#,
        _ body: (RelayRig) async throws -> Void,
    ) async throws {
        try await TestService.runInMemory { apple in
            try await PushedService.run(isHTTP2: isHTTP2, settings) { service in
                let rig = RelayRig(service: service, apple: apple)
                try await rig.setUpstream()
                if let relay { try await rig.set(relay) }
                try await body(rig)
            }
        }
    }

    func setUpstream() async throws {
        let key = try required(apple.description.key)
        let document: [String: Any] = [
            "url": "https://127.0.0.1:\(try apple.port(\.provider))",
            "authority": try String(contentsOfFile: apple.description.ca, encoding: .utf8),
            "credentials": [
                "kind": "key", "teamID": key.teamID, "keyID": key.keyID,
                "privateKey": try String(contentsOfFile: key.path, encoding: .utf8),
            ],
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: document), as: UTF8.self)
        let answer = try await gateway.ask(
            "PUT", "/v1/apps/\(gateway.bundleID)/upstreams/development", body: text)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @discardableResult
    func set(_ settings: String, of bundleID: String? = nil) async throws -> TestService.ManagementAnswer {
        try await gateway.ask(
            "PUT", "/v1/apps/\(bundleID ?? gateway.bundleID)/web-push/development", body: settings)
    }

    /// Sends to the relay's URL.
    /// - Parameter rest: what follows the environment in the path.
    func send(
        _ rest: String,
        fields: [(String, String)] = RelayRig.fields,
        body: [UInt8] = [1, 2, 3, 4, 5],
        environment: String = "development",
        method: HTTPMethod = .POST,
    ) async throws -> PushedService.Answer {
        try await service.send(method, at: "/relay-to/\(environment)/\(rest)", fields: fields, body: body)
    }

    /// What Apple's part has got, the newest last: the payload and the headers.
    func arrived() async throws -> [(payload: String, headers: [String: String], status: Int)] {
        try await apple.requests().map { request in
            let headers = try required(request["headers"] as? [String: String])
            let payload = request["payload"].flatMap {
                try? JSONSerialization.data(withJSONObject: $0, options: [.sortedKeys, .withoutEscapingSlashes])
            }
            return (String(decoding: payload ?? Data(), as: UTF8.self), headers, request["status"] as? Int ?? 0)
        }
    }
}
