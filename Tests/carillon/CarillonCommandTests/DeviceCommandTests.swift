import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon device activate`, `register` and `unregister`.
@Suite(.service(), .timeLimit(.minutes(2))) struct DeviceCommandTests {
    private let bundleID = "com.example.app"

    @Test func `Activate prints the device and the path`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/phone.pem"
            let made = try await CarillonProcess.current.carillon("device", "activate", "--out", path)
            #expect(made.status == 0)
            let object = try made.object
            #expect(object.keys == ["deviceID", "path"])
            #expect(object["path"]?.text == path)
            #expect(try #require(object["deviceID"]?.text).isEmpty == false)
        }
    }

    @Test func `An identity is a key and its chain for its owner alone`() async throws {
        let path = try await CarillonProcess.current.activate()
        #expect(try permissions(ofFile: path) == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: "-----BEGIN PRIVATE KEY-----").count == 2)
        // The device's own certificate and the intermediate that signed it.
        #expect(text.split(separator: "-----BEGIN CERTIFICATE-----").count >= 3)
        let service = try CarillonProcess.current
        // The role and the environment are in a critical extension, which openssl does not know.
        let verified = try await ChildProcess.run(
            "openssl", ["verify", "-ignore_critical", "-CAfile", service.ready.ca, "-untrusted", path, path])
        #expect(verified.status == 0, "\(verified.errors)")
    }

    @Test func `An identity is not overwritten`() async throws {
        let service = try CarillonProcess.current
        let path = try await service.activate()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let again = try await service.carillon("device", "activate", "--out", path)
        #expect(again.status != 0)
        #expect(again.output.isEmpty)
        #expect(again.errors.contains("\(path) exists already, and is not overwritten."), "\(again.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `Register prints the same token every time`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let first = try await service.carillon(
            "device", "register", "--identity", identity, "--bundle-id", bundleID)
        let second = try await service.carillon(
            "device", "register", "--identity", identity, "--bundle-id", bundleID)
        #expect(first.status == 0)
        let object = try first.object
        #expect(object.keys == ["token"])
        #expect(try #require(object["token"]?.text).wholeMatch(of: /[0-9a-f]{64}/) != nil)
        #expect(try second.object == object)
    }

    @Test func `Register of an app that is not there fails`() async throws {
        let service = try CarillonProcess.current
        let registered = try await service.carillon(
            "device", "register", "--identity", try await service.activate(), "--bundle-id", "com.example.none")
        #expect(registered.status != 0)
        #expect(registered.output.isEmpty)
        #expect(registered.errors.contains("com.example.none"))
    }

    @Test func `Unregister prints the token that is no longer active`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        let removed = try await service.carillon(
            "device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        #expect(removed.status == 0)
        #expect(try removed.object == ["token": .string(token)])
    }

    @Test func `After unregister the answer is 410 with the time in milliseconds`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        let before = Date().timeIntervalSince1970 * 1000
        let removed = try await service.carillon(
            "device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        let after = Date().timeIntervalSince1970 * 1000
        let answer = try await service.send(alert: "Gone", to: token)
        #expect(removed.status == 0)
        #expect(answer.status == 410)
        let body = try answer.json
        #expect(body["reason"] == "Unregistered")
        let timestamp = try #require(body["timestamp"]?.number)
        #expect(timestamp.rounded() == timestamp)
        // Test and service read the same clock, but the service's times are whole milliseconds.
        #expect(timestamp >= before - 1 && timestamp <= after + 1)
    }

    @Test func `Registering again after unregister gives a token that works`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        _ = try await service.register(bundleID, on: identity)
        _ = try await service.carillon("device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        let token = try await service.register(bundleID, on: identity)
        #expect(try await service.send(alert: "Again", to: token).status == 200)
    }
}
