import CommonTesting
import Foundation
import Notifications
import WebPushEncryption

@testable import ServiceTesting

/// A subscription of a virtual device, as a test sees it: made with a fixture.
struct TestSubscription: Codable, Sendable, Equatable {
    var bundleID: String
    var name: String
    var endpoint: String
    var p256dh: String
    var auth: String
    var privateKey: String

    /// Encrypts a text as an application server does.
    func encrypted(_ text: String, as coding: WebPushCoding = .aes128gcm) throws -> EncryptedMessage {
        try WebPushSender(p256dh: p256dh, auth: auth).encrypt(Array(text.utf8), as: coding)
    }
}

extension PushedService {
    static let teamID = "ABCDE12345"
    static let appID = "com.example.shop"

    /// Makes a fixture with one device.
    /// - Parameter device: the members of the device, in JSON.
    func fixture(
        _ device: String, query: String = "?replace=true", team: String = PushedService.teamID,
        app: String = PushedService.appID
    ) async throws -> (status: Int, body: Data) {
        let document = #"{"teams":[{"teamID":"\#(team)","apps":["\#(app)"],"devices":[{\#(device)}]}]}"#
        return try await test.manage("POST", "/v1/fixtures\(query)", Data(document.utf8))
    }

    /// Makes a fixture with one device, and returns its subscriptions.
    func subscriptions(_ device: String) async throws -> [TestSubscription] {
        try Self.subscriptions(in: await fixture(device))
    }

    static func subscriptions(in answer: (status: Int, body: Data)) throws -> [TestSubscription] {
        struct Document: Decodable {
            struct Team: Decodable { let devices: [Device] }
            struct Device: Decodable { let subscriptions: [TestSubscription] }
            let teams: [Team]
        }
        guard answer.status == 200 else { throw Unexpected(text: String(decoding: answer.body, as: UTF8.self)) }
        return try JSONDecoder().decode(Document.self, from: answer.body).teams[0].devices[0].subscriptions
    }

    struct Unexpected: Error { let text: String }

    /// Sends a text to a subscription of a virtual device.
    func send(
        _ text: String, to subscription: TestSubscription, as coding: WebPushCoding = .aes128gcm,
        fields: [(String, String)] = [("TTL", "60")]
    ) async throws -> Answer {
        let message = try subscription.encrypted(text, as: coding)
        var fields = fields + [("Content-Encoding", coding.rawValue)]
        if case .aesgcm(_, let dh, let salt) = message {
            func shown(_ bytes: [UInt8]) -> String { String(decoding: Base64URL.encoded(bytes), as: UTF8.self) }
            fields += [("Encryption", "salt=\(shown(salt))"), ("Crypto-Key", "dh=\(shown(dh))")]
        }
        return try await send(at: subscription.endpoint, fields: fields, body: message.body)
    }

    /// The requests of the journal that match.
    func journal(_ query: String) async throws -> [[String: JSONValue]] {
        let answer = try await test.manage("GET", "/v1/requests?\(query)")
        return try JSONDecoder().decode([[String: JSONValue]].self, from: answer.body)
    }
}
