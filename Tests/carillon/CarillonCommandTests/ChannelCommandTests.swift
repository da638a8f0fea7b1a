import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon channel`, `carillon broadcast` and the device tokens of services.
@Suite(.service(), .timeLimit(.minutes(2))) struct ChannelCommandTests {
    private let bundleID = "com.example.app"

    private func carillon(
        _ arguments: String...
    ) async throws -> (status: Int32, object: FoundationJSON?, errors: String) {
        try await carillon(arguments)
    }

    private func carillon(
        _ arguments: [String]
    ) async throws -> (status: Int32, object: FoundationJSON?, errors: String) {
        let service = try CarillonProcess.current
        let result = try await BuiltCommand.run(arguments + ["--data", service.data, "--json"])
        return (result.status, result.output.isEmpty ? nil : try result.object, result.errors)
    }

    @Test func `Channels are made shown listed and deleted`() async throws {
        let made = try await carillon(
            "channel", "create", "--bundle-id", bundleID, "--message-storage-policy", "1")
        #expect(made.status == 0, "\(made.errors)")
        let channel = try #require(made.object?["channelID"]?.text)
        #expect(
            made.object?.keys == [
                "bundleID", "channelID", "connectedSubscribers", "created", "environment", "messageStoragePolicy",
            ])
        let shown = try await carillon("channel", "read", channel, "--bundle-id", bundleID)
        #expect(shown.object == made.object)
        let listed = try await CarillonProcess.current.carillon("channel", "list", "--bundle-id", bundleID)
        #expect(listed.status == 0)
        #expect(listed.output.contains(channel))
        let deleted = try await carillon("channel", "delete", channel, "--bundle-id", bundleID)
        #expect(deleted.object == made.object)
        let gone = try await carillon("channel", "read", channel, "--bundle-id", bundleID)
        #expect(gone.status == 1)
        #expect(gone.errors.contains(channel))
    }

    @Test func `A broadcast is answered with its identifier`() async throws {
        let made = try await carillon("channel", "create", "--bundle-id", bundleID)
        let channel = try #require(made.object?["channelID"]?.text)
        let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        let sent = try await carillon(
            "broadcast", "--channel", channel, "--bundle-id", bundleID, "--content-state", #"{"score":1}"#,
            "--id", id)
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(sent.object == ["status": 200, "apnsID": .string(id)])
        let refused = try await carillon(
            "broadcast", "--channel", "AAAA", "--bundle-id", bundleID, "--content-state", "{}", "--end")
        #expect(refused.status == 1)
        #expect(refused.object?["reason"] == "ChannelNotRegistered")
        let unclear = try await carillon("broadcast", "--channel", channel, "--bundle-id", bundleID)
        #expect(unclear.status != 0)
        #expect(unclear.errors.contains("--content-state"))
    }

    @Test(.service(["--conformance", "strict"]))
    func `A broadcast has an expiration and a priority by default, as strict requires`() async throws {
        let made = try await carillon("channel", "create", "--bundle-id", bundleID)
        let channel = try #require(made.object?["channelID"]?.text)
        let broadcast = ["broadcast", "--channel", channel, "--bundle-id", bundleID, "--content-state"]
        let sent = try await carillon(broadcast + ["{}"])
        #expect(sent.object?["status"] == 200, "\(sent.errors)")
        // The command does not check the state, so the payload has a key more, which only strict refuses.
        let refused = try await carillon(broadcast + [#"{},"more":1"#])
        #expect(refused.object?["reason"] == "PayloadEmpty")
    }

    @Test func `Register with a service prints that services token`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let own = try await service.register(bundleID, on: identity)
        let voip = try await carillon(
            "device", "register", "--identity", identity, "--bundle-id", bundleID, "--service", "voip")
        #expect(voip.status == 0, "\(voip.errors)")
        let token = try #require(voip.object?["token"]?.text)
        #expect(token != own)
        let wrong = try await carillon("send", "--token", token, "--topic", bundleID, "--alert", "Hello")
        #expect(wrong.object?["reason"] == "DeviceTokenNotForTopic")
        let sent = try await carillon("send", "--token", token, "--topic", bundleID + ".voip", "--payload", "/dev/null")
        #expect(sent.object?["reason"] == "PayloadEmpty")
        let unknown = try await carillon(
            "device", "register", "--identity", identity, "--bundle-id", bundleID, "--service", "mdm")
        #expect(unknown.status != 0)
        #expect(unknown.errors.contains("liveactivity"))
    }
}
