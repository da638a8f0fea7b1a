import APNSDevice
import CommonTesting
import Foundation
import HTTPAPIClient
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOPosix
import Notifications
import Synchronization
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// Who may read an app's stream, and what an open stream means for the app.
@Suite(.timeLimit(.minutes(2))) struct AgentStreamTests {
    private func run(_ body: (AgentRig) async throws -> Void) async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await AgentRig.run(on: service, folder: folder, body)
            }
        }
    }

    /// Gives the app to another user.
    private func giveAway(_ rig: AgentRig) async throws {
        try AgentRig.write(
            #"{"bundleID":"\#(rig.bundleID)","user":"12345"}"#, to: rig.folder + "/apps.d/app.json")
        // The agent reads the manifests for this.
        _ = try await rig.client.ask(.GET, "/v1/status")
    }

    @Test func `A stream ends when the manifest gives the app to another user`() async throws {
        try await run { rig in
            let token = try await rig.token()
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            _ = try await stream.next()
            try await giveAway(rig)
            await stream.ended()
            #expect(try await rig.app()?["streams"] == 0)
        }
    }

    @Test func `Streams stay while the folder of the manifests cannot be read, and end when it is missing`()
        async throws
    {
        try await run { rig in
            _ = try await rig.token()
            let stream = rig.events()
            try await wait(while: await rig.agent.streams.isEmpty)
            let folder = rig.folder + "/apps.d"
            try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
            // A symbolic link to itself cannot be opened, not even by root.
            symlink("apps.d", folder)
            #expect(try await rig.app()?["streams"] == 1)
            unlink(folder)
            _ = try await rig.client.ask(.GET, "/v1/status")
            await stream.ended()
        }
    }

    @Test func `An app that says it is in the foreground is there when it holds a stream`() async throws {
        try await run { rig in
            let token = try await rig.token()
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "foreground"])
            #expect(try await rig.app()?["state"] == "background")
            let stream = rig.events()
            try await wait(while: await rig.agent.state.life(of: rig.bundleID) != .foreground)
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            #expect(try await stream.next()[0]["event"] == "received")
        }
    }

    @Test func `An app that starts again is not in the foreground because it said so before`() async throws {
        try await run { rig in
            _ = try await rig.token()
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "foreground"])
            _ = try await rig.token()
            let stream = rig.events()
            defer { stream.close() }
            try await wait(while: await rig.agent.streams.isEmpty)
            #expect(await rig.agent.state.life(of: rig.bundleID) == .background)
        }
    }

    @Test func `A client that reads slowly does not get the rest of a queue that is another user's`() async throws {
        try await run { rig in
            _ = try await rig.token()
            let page = Array(repeating: #"{"event":"shown"}"#, count: AgentLimits.pageEvents)
            _ = try rig.agent.store.add(page + [#"{"event":"newest"}"#], of: rig.bundleID)
            let peer = LocalPeer(user: geteuid(), groups: [getegid()])
            let connectionEnd = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
            let stream = EventStream(
                stream: try await rig.agent.openStream(of: rig.bundleID, for: peer),
                connectionEnd: connectionEnd.futureResult)
            let client = SlowClient { try await giveAway(rig) }
            var writer: any ResponseBodyWriter = client
            try await stream.write(to: &writer)
            connectionEnd.succeed()
            let text = client.text.withLock { $0 }
            #expect(text.contains("shown") && !text.contains("newest"))
        }
    }

    /// A client that takes what is written to it when something else has happened.
    private final class SlowClient: ResponseBodyWriter, Sendable {
        let text = Mutex("")
        let happens: @Sendable () async throws -> Void

        init(_ happens: @escaping @Sendable () async throws -> Void) { self.happens = happens }

        func write(_ buffer: ByteBuffer) async throws {
            try await happens()
            text.withLock { $0 += String(buffer: buffer) }
        }

        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
