import APNSDevice
import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The whole journey of messages of Web Push to a phone, in processes of their own: a service that plays Apple's, the publisher's, an
/// application server in Node.js that follows RFC 8291 alone, and a phone with its app's extension (docs/web-push.md).
@Suite(.service(), .timeLimit(.minutes(3))) struct WebPushPhoneJourneyTests {
    private static let bundleID = "com.example.app"
    private static let sender = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Clients/testing/node/test/webpush.js").standardizedFileURL.path

    // MARK: The parties

    /// The publisher's service, whose upstream is the one of the suite.
    private struct Publisher {
        let service: CarillonProcess
        /// The origin of the endpoints.
        let origin: String
        /// What the app on each phone has.
        let clientKey: String

        static func run(_ body: (Publisher) async throws -> Void) async throws {
            let apple = try CarillonProcess.current
            try await CarillonProcess.with(["--web-push", "127.0.0.1:0"]) { service in
                let key = try apple.developmentKey
                let set = try await service.carillon(
                    "app", "upstream", "set", "--bundle-id", bundleID, "--environment", "development", "--url",
                    "https://\(try apple.addresses(.development).provider)", "--ca", apple.ready.ca, "--key-file",
                    key.path, "--key-id", key.keyID, "--team-id", key.teamID)
                try #require(set.status == 0, "\(set.errors)")
                let made = try await service.carillon(
                    "grant", "create", "--bundle-id", bundleID, "--name", "phones", "--web-push")
                let origin = try FoundationJSON(service.readyLine)["development"]?["webPush"]?.text
                try await body(
                    Publisher(
                        service: service, origin: try #require(origin),
                        clientKey: try #require(made.object["clientKey"]?.text, "\(made.errors)")))
            }
        }

        /// What the app does at its launch.
        func subscribe(_ token: String, as name: String) async throws -> String {
            let wish =
                #"{"bundleID":"\#(bundleID)","environment":"development","token":"\#(token)","webPush":{"name":"\#(name)"}}"#
            let answer = try await Curl.request(
                "POST", origin + "/1/handles", ca: service.ready.ca,
                headers: [("authorization", "Bearer \(clientKey)")], body: Array(wish.utf8))
            try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            return try #require(try answer.json["endpoint"]?.text)
        }

        func webPush(_ arguments: [String]) async throws {
            let place = ["app", "web-push", "set", "--bundle-id", bundleID, "--environment", "development"]
            let set = try await service.carillon(place + arguments)
            try #require(set.status == 0, "\(set.errors)")
        }

        /// Sends a message as somebody's server.
        /// - Returns: the status.
        func send(_ text: String, to endpoint: String, _ keys: PhoneExtension) async throws -> String {
            let program = """
                import { readFileSync } from 'node:fs';
                import { Sender } from '\(sender)';
                const [endpoint, p256dh, auth, ca, text] = process.argv.slice(1);
                const answer = await new Sender(readFileSync(ca)).send(text, { endpoint, keys: { p256dh, auth } });
                console.log(answer.status);
                """
            let finished = try await ChildProcess.run(
                "node",
                [
                    "--input-type=module", "-e", program, "--", endpoint, keys.p256dh, keys.secret, service.ready.ca,
                    text,
                ])
            try #require(finished.status == 0, "\(finished.errors)")
            return finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// A phone at the suite's service, and the notifications that it has got.
    private struct Phone {
        let device: Device
        let token: String
        let arrived: AsyncStream<ReceivedNotification>

        private struct Arrivals: DeviceDelegate {
            let arrival: AsyncStream<ReceivedNotification>.Continuation

            func received(_ notification: ReceivedNotification) async { arrival.yield(notification) }
        }

        static func run(_ body: (Phone) async throws -> Void) async throws {
            let apple = try CarillonProcess.current
            let courier = CourierAddress(
                host: "127.0.0.1", port: try apple.port(of: apple.addresses(.development).courier),
                authorityFile: apple.ready.ca)
            let identity = try await APNSDevice.DeviceIdentity.activate(at: courier, environment: .development)
            let (arrived, arrival) = AsyncStream.makeStream(of: ReceivedNotification.self)
            let device = try Device(identity, at: courier, delegate: Arrivals(arrival: arrival))
            let running = Task { try await device.run() }
            try await withCleanUp {
                let token = try await device.register(bundleID)
                try await body(Phone(device: device, token: token, arrived: arrived))
            } cleanUp: {
                await device.close()
                _ = await running.result
            }
        }

        /// The payload of the next notification.
        func next() async throws -> FoundationJSON {
            var iterator = arrived.makeAsyncIterator()
            return try FoundationJSON(Data(try #require(await iterator.next()).payload))
        }
    }

    /// Text of so many bytes, which has no two equal parts.
    private static func text(_ count: Int) -> String {
        String((0..<count).map { String($0, radix: 36) }.joined(separator: " ").prefix(count))
    }

    /// What an encrypted body has beside the text: the header, the delimiter and the tag.
    private static let overhead = 86 + 1 + 16

    // MARK: The journeys

    /// The extension of an app without a template of its own, and of one that takes z85.
    @Test(arguments: [
        nil,
        #"{"aps":{"alert":{"loc-key":"NEW"},"mutable-content":1},"m":{"$webPush":"body","as":"z85"},"u":{"$webPush":"fetch"},"a":{"$webPush":"subscription"}}"#,
    ])
    func `Somebody's server reaches the app on a phone, which decrypts each message, also one that does not fit`(
        _ template: String?
    ) async throws {
        try await Publisher.run { publisher in
            try await withTemporaryFolder { folder in
                if let template {
                    try Data(template.utf8).write(to: URL(fileURLWithPath: folder + "/template.json"))
                    try await publisher.webPush(["--template", folder + "/template.json"])
                }
                try await Phone.run { phone in
                    let keys = PhoneExtension()
                    let endpoint = try await publisher.subscribe(phone.token, as: "mastodon.example")
                    #expect(endpoint.hasPrefix(publisher.origin + "/wp/"))
                    // The sizes of the bodies, and whether they fit.
                    let bodies = [
                        (1 + Self.overhead, true), (2900, true), (2960, template != nil), (4096, false),
                    ]
                    for (bytes, fits) in bodies {
                        let text = Self.text(bytes - Self.overhead)
                        #expect(try await publisher.send(text, to: endpoint, keys) == "201")
                        let payload = try await phone.next()
                        #expect(payload["aps"]?["mutable-content"] == 1)
                        #expect((payload["a"] ?? payload["subscription"])?.text == "mastodon.example")
                        let body = payload["m"]?.text ?? payload["webPush"]?["body"]?.text
                        let url = payload["u"]?.text ?? payload["webPush"]?["fetch"]?.text
                        #expect((body != nil) == fits && (url == nil) == fits, "\(bytes) bytes")
                        let encrypted: [UInt8]
                        if let url {
                            #expect(url.hasPrefix(publisher.origin + "/wp/f/"))
                            let fetched = try await Curl.request("GET", url, ca: publisher.service.ready.ca)
                            #expect(fetched.status == 200)
                            encrypted = Array(fetched.body)
                        } else {
                            let body = try #require(body)
                            encrypted =
                                try template == nil
                                ? PhoneExtension.bytes(base64URL: body) : PhoneExtension.bytes(z85: body)
                        }
                        #expect(encrypted.count == bytes)
                        #expect(try keys.text(encrypted) == text)
                    }
                }
            }
        }
    }

    @Test func `An old app gets aesgcm by the relay's URL, as from its relay`() async throws {
        try await Publisher.run { publisher in
            try await publisher.webPush(["--relay-to"])
            try await Phone.run { phone in
                let keys = PhoneExtension()
                let text = "Grüße von früher"
                let message = try keys.draft(text)
                let answer = try await Curl.request(
                    "POST", "\(publisher.origin)/relay-to/development/\(phone.token)/account%207",
                    ca: publisher.service.ready.ca,
                    headers: [
                        ("TTL", "60"), ("Content-Encoding", "aesgcm"),
                        ("Encryption", "salt=\(PhoneExtension.base64URL(message.salt))"),
                        ("Crypto-Key", "dh=\(PhoneExtension.base64URL(message.dh))"),
                    ], body: message.body)
                #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
                let payload = try await phone.next()
                #expect(payload["x"]?.text == "account 7" && payload["aps"]?["mutable-content"] == 1)
                let parts = try ["p", "k", "s"].map { try PhoneExtension.bytes(z85: try #require(payload[$0]?.text)) }
                #expect(try keys.text(parts[0], dh: parts[1], salt: parts[2]) == text)
                // The app is deleted, so the server is told to forget the URL.
                _ = try await phone.device.unregister(Self.bundleID)
                let gone = try await Curl.request(
                    "POST", "\(publisher.origin)/relay-to/development/\(phone.token)/account%207",
                    ca: publisher.service.ready.ca, headers: [("Content-Encoding", "aes128gcm")], body: [1])
                #expect(gone.status == 404)
            }
        }
    }
}
