import CommonTesting
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import APNSDevice

/// When an installation is sent to the provider server, and when it is sent again.
@Suite(.timeLimit(.minutes(1)))
struct InstallationUpdateTests {
    /// Answers each request with the status whose turn it is.
    private final class Responder: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private struct Body: Decodable { let appTags: [String] }

        private let rig: Rig
        private var received = ByteBuffer()

        init(_ rig: Rig) { self.rig = rig }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: break
            case .body(var part): received.writeBuffer(&part)
            case .end:
                let body = try? JSONDecoder().decode(Body.self, from: Data(received.readableBytesView))
                rig.requests.update { $0.append(body?.appTags ?? []) }
                let status = rig.statuses.dropFirst(rig.requests.value.count - 1).first ?? .ok
                let head = HTTPResponseHead(version: .http1_1, status: status, headers: ["content-length": "0"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    /// A provider server, and the time and the file of an app.
    private struct Rig: Sendable {
        let file: String
        /// The server's answers, one after the other. Then it answers 200.
        let statuses: [HTTPResponseStatus]
        /// The tags that each request had.
        let requests = Observed<[[String]]>([])
        let now = Observed(Date(timeIntervalSince1970: 1_800_000_000))
        let delays = Observed<[Duration]>([])

        static func run(
            _ statuses: [HTTPResponseStatus] = [],
            _ body: (_ rig: Rig, _ url: String) async throws -> Void,
        ) async throws {
            try await withTemporaryPath { file in
                let rig = Rig(file: file, statuses: statuses)
                let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .childChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                            try channel.pipeline.syncOperations.addHandler(Responder(rig))
                        }
                    }
                    .bind(host: "127.0.0.1", port: 0).get()
                defer { listener.close(promise: nil) }
                try await body(rig, "http://127.0.0.1:\(try #require(listener.localAddress?.port))")
            }
        }

        /// A new keeper, as after a launch of the app. By default, no delay takes any time.
        func keeper(
            _ url: String,
            attempts: Int = 10,
            sleep: @escaping @Sendable () async throws -> Void = {},
        ) throws -> InstallationKeeper {
            var configuration = InstallationKeeper.Configuration()
            configuration.attempts = attempts
            configuration.now = { now.value }
            configuration.sleep = { delay in
                delays.update { $0.append(delay) }
                try await sleep()
            }
            return try InstallationKeeper(server: url, file: file, configuration: configuration) { "ck_1" }
        }
    }

    private static func installation(_ tag: String = "news") -> AppInstallation {
        AppInstallation(deviceToken: "00fc", environment: .development, languages: [], timeZone: nil, tags: [tag])
    }

    @Test
    func `The same is sent once a day`() async throws {
        try await Rig.run { rig, url in
            let steps: [(TimeInterval, InstallationKeeper.Outcome)] = [(0, .sent), (86_399, .unchanged), (1, .sent)]
            for (later, outcome) in steps {
                rig.now.update { $0 += later }
                let keeper = try rig.keeper(url)
                #expect(try await keeper.update(Self.installation()) == outcome)
            }
            #expect(rig.requests.value.count == 2)
        }
    }

    @Test
    func `A change is sent at once`() async throws {
        try await Rig.run { rig, url in
            let keeper = try rig.keeper(url)
            for tag in ["news", "offers"] { #expect(try await keeper.update(Self.installation(tag)) == .sent) }
            #expect(rig.requests.value == [["news"], ["offers"]])
        }
    }

    @Test
    func `After the clock was set back, the same is sent again`() async throws {
        try await Rig.run { rig, url in
            let keeper = try rig.keeper(url)
            #expect(try await keeper.update(Self.installation()) == .sent)
            rig.now.update { $0 -= 1 }
            #expect(try await keeper.update(Self.installation()) == .sent)
        }
    }

    @Test
    func `The delay doubles with each failure, up to a minute`() async throws {
        let failures = Array(repeating: HTTPResponseStatus.serviceUnavailable, count: 8)
        try await Rig.run(failures) { rig, url in
            let keeper = try rig.keeper(url)
            #expect(try await keeper.update(Self.installation()) == .sent)
            let full = [1, 2, 4, 8, 16, 32, 60, 60].map { Duration.seconds($0) }
            #expect(rig.delays.value.count == full.count)
            for (delay, full) in zip(rig.delays.value, full) { #expect((full / 2...full).contains(delay)) }
        }
    }

    @Test(arguments: [429, 500, 503])
    func `After the last attempt the error is thrown, and the next update sends again`(status: Int) async throws {
        try await Rig.run(Array(repeating: .init(statusCode: status), count: 3)) { rig, url in
            let keeper = try rig.keeper(url, attempts: 3)
            let error = await #expect(throws: DeviceError.self) { try await keeper.update(Self.installation()) }
            #expect(error?.code == .unavailable && error?.reason == String(status))
            #expect(rig.delays.value.count == 2)
            #expect(try await keeper.update(Self.installation()) == .sent)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 409])
    func `A refusal ends the update, and the next one sends again`(status: Int) async throws {
        try await Rig.run([.init(statusCode: status)]) { rig, url in
            let keeper = try rig.keeper(url)
            let error = await #expect(throws: DeviceError.self) { try await keeper.update(Self.installation()) }
            #expect(error?.code == .refused && error?.reason == String(status))
            #expect(rig.requests.value.count == 1 && rig.delays.value.isEmpty)
            #expect(try await keeper.update(Self.installation()) == .sent)
        }
    }

    @Test
    func `A newer update replaces one that waits`() async throws {
        try await Rig.run([.serviceUnavailable]) { rig, url in
            // This ends only because the waiting update is cancelled.
            let keeper = try rig.keeper(url) { try await Observed(false).wait { $0 } }
            async let first = keeper.update(Self.installation("old"))
            try await rig.delays.wait { !$0.isEmpty }
            #expect(try await keeper.update(Self.installation("new")) == .sent)
            #expect(try await first == .replaced)
            #expect(rig.requests.value == [["old"], ["new"]])
        }
    }
}
