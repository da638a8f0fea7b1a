import CommonTesting
import Foundation
import Testing
import Notifications

@testable import ServiceTesting

/// The whole journey of a notification with general tools: `openssl` makes the device's key, and `curl` is the
/// provider and the device.
@Suite(.service(), .timeLimit(.minutes(2))) struct NotificationWithCurlTests {
    private let bundleID = "com.example.app"

    /// A device made with openssl and curl.
    /// - Returns: the path of its identity.
    private func activate(in folder: String) async throws -> String {
        let service = try CarillonProcess.current
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=anything", "-keyout", "key.pem", "-out", "request.pem",
            ], folder: folder)
        try #require(made.status == 0, "\(made.errors)")
        let request = try String(contentsOfFile: folder + "/request.pem", encoding: .utf8)
        let answer = try await service.device("POST", "/1/activations", as: nil, body: request)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        let key = try String(contentsOfFile: folder + "/key.pem", encoding: .utf8)
        let path = folder + "/identity.pem"
        try Data((key + String(decoding: answer.body, as: UTF8.self)).utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func register(_ identity: String) async throws -> String {
        let answer = try await CarillonProcess.current.device("PUT", "/1/apps/\(bundleID)", as: identity)
        return try answer.json["token"].flatMap(\.text).orThrow("no token")
    }

    @Test func `Activation gives a chain of our authority`() async throws {
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let ca = try CarillonProcess.current.ready.ca
            // The role and the environment are in a critical extension, which openssl does not know.
            let verified = try await ChildProcess.run(
                "openssl",
                [
                    "verify", "-ignore_critical", "-purpose", "sslclient", "-CAfile", ca, "-untrusted", identity,
                    identity,
                ])
            #expect(verified.status == 0, "\(verified.errors)")
        }
    }

    @Test func `Activation takes only the public key from the request`() async throws {
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let shown = try await ChildProcess.run("openssl", ["x509", "-in", identity, "-noout", "-text"])
            #expect(!shown.output.contains("anything"))
            #expect(shown.output.contains("TLS Web Client Authentication"))
            #expect(!shown.output.contains("Subject Alternative Name"))
        }
    }

    @Test func `Activation of what is no request is refused`() async throws {
        let answer = try await CarillonProcess.current.device("POST", "/1/activations", as: nil, body: "nothing")
        #expect(answer.status == 400)
        #expect(answer["content-type"] == "application/json")
    }

    @Test func `The same token every time`() async throws {
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let first = try await CarillonProcess.current.device("PUT", "/1/apps/\(bundleID)", as: identity)
            #expect(first.status == 200)
            #expect(try first.json.keys == ["token"])
            #expect(try await register(identity) == first.json["token"]?.text)
        }
    }

    @Test func `A device without a certificate is refused`() async throws {
        let answer = try await CarillonProcess.current.device("PUT", "/1/apps/\(bundleID)", as: nil)
        #expect(answer.status == 403)
    }

    @Test func `The line holds all that the provider said`() async throws {
        let service = try CarillonProcess.current
        let expiration = Provider.now + 3600
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            try await service.listen(as: identity) { device in
                let answer = try await service.send(
                    alert: "Hello", to: token,
                    headers: [
                        ("apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"), ("apns-priority", "10"),
                        ("apns-expiration", "\(expiration)"), ("apns-collapse-id", "score"),
                        ("apns-push-type", "alert"),
                    ])
                #expect(answer.status == 200)
                let line = try await device.nextNotification()
                let sending = try #require(line["sending"])
                #expect(
                    line == [
                        "sending": sending,
                        "id": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab",
                        "topic": .string(bundleID),
                        "bundleID": .string(bundleID),
                        "priority": 10,
                        "expiration": .number(Double(expiration)),
                        "collapseID": "score",
                        "pushType": "alert",
                        "payload": ["aps": ["alert": "Hello"]],
                    ])
            }
        }
    }

    @Test func `Several requests use one connection`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let token = try await register(try await activate(in: folder))
            let push = try WirePush(token: token, topic: bundleID, from: service.developmentProvider)
            let url = "https://\(try service.addresses(.development).provider)\(push.path)"
            let headers = push.headers.flatMap { ["-H", "\($0.name): \($0.value)"] }
            let finished = try await ChildProcess.run(
                "curl",
                Curl.arguments(ca: service.ready.ca) + headers
                    + ["-d", #"{"aps":{"alert":"Hello"}}"#, "-w", "%{http_code} %{num_connects}\n"]
                    + Array(repeating: url, count: 5))
            #expect(finished.output == "200 1\n" + String(repeating: "200 0\n", count: 4))
        }
    }

    @Test func `Each attempt has a number of its own`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            try await service.listen(as: identity) { device in
                var numbers: [Double] = []
                for alert in ["One", "Two", "Three"] {
                    #expect(try await service.send(alert: alert, to: token).status == 200)
                    numbers.append(try #require(try await device.nextNotification()["sending"]?.number))
                }
                #expect(Set(numbers).count == 3)
            }
        }
    }

    @Test func `An acknowledged notification is not sent again`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            #expect(try await service.send(alert: "Once", to: token).status == 200)
            try await service.listen(as: identity) { device in
                let answer = try await service.acknowledge(try await device.nextNotification(), as: identity)
                #expect(answer.status == 204)
            }
            try await service.listen(as: identity) { device in
                // Notifications arrive in the order of acceptance. If there were one in the mailbox, it would come
                // first.
                #expect(try await service.send(alert: "Next", to: token).status == 200)
                try await device.expectNext(alert: "Next")
            }
        }
    }

    @Test func `An unacknowledged notification is sent again`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            #expect(try await service.send(alert: "Twice", to: token).status == 200)
            for _ in 0..<2 {
                let line = try await service.firstNotification(for: identity)
                #expect(line["payload"] == ["aps": ["alert": "Twice"]])
            }
        }
    }

    @Test func `A second stream takes over and the first says so`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            try await service.listen(as: identity) { first in
                #expect(try await service.send(alert: "First", to: token).status == 200)
                let line = try await first.nextNotification()
                #expect(try await service.acknowledge(line, as: identity).status == 204)
                try await service.listen(as: identity) { second in
                    #expect(try await first.nextNotification()["end"] != nil)
                    #expect(await first.finished().status == 0)
                    #expect(try await service.send(alert: "Second", to: token).status == 200)
                    try await second.expectNext(alert: "Second")
                }
            }
        }
    }

    @Test func `Another connection takes nothing over`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            try await service.listen(as: identity) { device in
                #expect(try await register(identity) == token)
                let state = try await service.device(
                    "POST", "/1/state", as: identity, body: #"{"power":"awake"}"#)
                #expect(state.status == 204)
                #expect(try await service.send(alert: "Still", to: token).status == 200)
                try await device.expectNext(alert: "Still")
            }
        }
    }

    @Test(arguments: [
        ("GET", "/1/nothing", 404), ("POST", "/1/notifications", 405), ("GET", "/1/acknowledgements", 405),
        ("POST", "/1/apps/com.example.app", 405), ("PUT", "/1/apps/com.example.nothing", 400),
    ])
    func `What the device protocol does not have is refused`(method: String, path: String, status: Int) async throws {
        let service = try CarillonProcess.current
        let answer = try await service.device(method, path, as: try await service.activate())
        #expect(answer.status == status)
        #expect(answer["content-type"] == "application/json")
        #expect(try answer.json["reason"]?.text?.isEmpty == false)
    }

    @Test(arguments: ["", "{}", #"{"sendings":[-1]}"#, #"{"sendings":["1"]}"#, "[1]"])
    func `An acknowledgement of another form is refused`(body: String) async throws {
        let service = try CarillonProcess.current
        let answer = try await service.device(
            "POST", "/1/acknowledgements", as: try await service.activate(), body: body)
        #expect(answer.status == 400)
    }

    @Test func `Deleting an app ends its token`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let identity = try await activate(in: folder)
            let token = try await register(identity)
            let answer = try await service.device("DELETE", "/1/apps/\(bundleID)", as: identity)
            #expect((200..<300).contains(answer.status))
            #expect(try await service.send(alert: "Gone", to: token).status == 410)
        }
    }
}
