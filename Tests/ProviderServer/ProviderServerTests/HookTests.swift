import CommonTesting
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOPosix
import Notifications
import ServiceLifecycle
import Logging
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Hooks, with a receiver over the wire.
@Suite(.timeLimit(.minutes(3))) struct HookTests {
    @Test func `A receiver hears of ended installations and finished messages, signed, until it takes them`()
        async throws
    {
        let receiver = HookReceiver(failures: 1)
        try await receiver.run { url in
            try await TestShop.run(devices: [#"{"kind":"removed","since":1700000000000}"#, nil]) {
                // An hour passes in a moment, so the next attempt comes at once.
                $0.clock = Self.fastClock()
            } _: { shop in
                try await shop.register()
                let made = try await shop.provider.ask(.POST, "/v1/hooks", #"{"url":"\#(url)"}"#, key: shop.serverKey)
                #expect(made.status == 201)
                let (hook, secret) = (try made.text("id"), try made.text("secret"))
                let shown = try await shop.provider.ask(.GET, "/v1/hooks", key: shop.serverKey)
                #expect(!shown.body.text.contains(secret) && shown["items", "0", "url"] == .string(url))
                let message = try await shop.send()
                _ = try await shop.provider.finished(message)
                func states() async throws -> [JSONValue?] {
                    let log = try await shop.provider.ask(.GET, "/v1/hooks/\(hook)/deliveries", key: shop.serverKey)
                    return (0..<3).map { log["items", String($0), "state"] }
                }
                try await wait(while: try await states() != ["delivered", "delivered", nil])
                let received = receiver.received
                // One failed and was sent again.
                #expect(received.count == 3 && Set(received.map(\.id)).count == 2)
                for item in received { try Self.check(item, secret) }
                let bodies = try received.map { try JSONDecoder().decode(JSONValue.self, from: Data($0.body.utf8)) }
                let ended = bodies.contains { body in
                    guard case .object(let event) = body, event["type"] == "installations.ended",
                        case .object(let data)? = event["data"], case .array(let list)? = data["installations"],
                        case .object(let first)? = list.first
                    else { return false }
                    return first["id"] == "i0" && first["reason"] == "Unregistered"
                }
                #expect(ended)
                #expect(received.contains { $0.body.contains("message.finished") && $0.body.contains(message) })
            }
        }
    }

    private final class Skipped: Sendable { let value = Atomic<UInt64>(0) }

    /// A clock on which whoever sleeps moves the time on.
    private static func fastClock() -> ProviderClock {
        let skipped = Skipped()
        return ProviderClock(
            now: {
                Timestamp(milliseconds: 1_600_000_000_000 + skipped.value.load(ordering: .relaxed))
            },
            sleep: { duration in
                if duration > .seconds(1), !Task.isCancelled {
                    let milliseconds = UInt64(max(0, duration.components.seconds)) * 1000 + 1000
                    skipped.value.wrappingAdd(milliseconds, ordering: .relaxed)
                } else {
                    await ProviderClock.system.sleep(duration)
                }
            })
    }

    /// Verifies a signature as the specification says.
    private static func check(_ received: HookReceiver.Received, _ secret: String) throws {
        let key = SymmetricKey(data: try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count)))))
        let signed = Data("\(received.id).\(received.timestamp).\(received.body)".utf8)
        let code = try #require(Data(base64Encoded: String(received.signature.dropFirst("v1,".count))))
        #expect(HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key))
    }

    /// Counts the connections that are open at the same time.
    private final class OpenConnections: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let state = Mutex((open: [any Channel](), most: 0))

        /// The largest number of connections so far.
        var most: Int { state.withLock { $0.most } }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            state.withLock { state in
                state.open.append(channel)
                state.most = max(state.most, state.open.count)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            let channel = context.channel
            state.withLock { state in state.open.removeAll { $0 === channel } }
        }

        func closeAll() { for channel in state.withLock({ $0.open }) { channel.close(promise: nil) } }
    }

    @Test func `A receiver that does not answer keeps nobody else waiting`() async throws {
        let silent = OpenConnections()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in channel.pipeline.addHandler(silent) }
            .bind(host: "127.0.0.1", port: 0).get()
        let receiver = HookReceiver(failures: 0)
        try await receiver.run { url in
            try await TestShop.run(devices: []) { shop in
                let port = try #require(server.localAddress?.port)
                for url in ["http://127.0.0.1:\(port)/hook", url] {
                    let made = try await shop.provider.ask(
                        .POST, "/v1/hooks", #"{"url":"\#(url)"}"#, key: shop.serverKey)
                    #expect(made.status == 201)
                }
                // More than can be sent at the same time.
                let count = ProviderServerLimits.hooksAtOnce * 2
                for _ in 0..<count { _ = try await shop.provider.finished(try await shop.send()) }
                await receiver.wait(for: count)
                #expect(silent.most == ProviderServerLimits.hookEventsAtOnce)
                // Ends the attempts, so that the server can end.
                try await server.close()
                silent.closeAll()
                let hooks = try await shop.provider.ask(.GET, "/v1/hooks", key: shop.serverKey)
                guard case .string(let id)? = hooks["items", "0", "id"] else {
                    return #expect(Bool(false), "\(hooks.body.text)")
                }
                #expect(try await shop.provider.ask(.DELETE, "/v1/hooks/\(id)", key: shop.serverKey).status == 204)
            }
        }
    }

    @Test func `An address in the clear is refused`() async throws {
        try await TestShop.run(devices: []) { shop in
            for url in [
                "http://example.com/x", "ftp://127.0.0.1/x", "https://", "https://user@example.com/", "x",
                "http://127.evil.example/", "http://127.0.0.1.example/x", "http://127..1/",
                "https://example.com:99999/", "https://example.com:0/",
            ] {
                let answer = try await shop.provider.ask(
                    .POST, "/v1/hooks", #"{"url":"\#(url)"}"#, key: shop.serverKey)
                #expect(answer.status == 400 && answer.pointer == "/url", "\(url)")
            }
        }
    }

    /// Something that listens on this machine only may take any request.
    @Test(arguments: ["http://127.0.0.1:9/x", "https://localhost:9/x", "https://[::1]/x"])
    func `The key of an app adds no hook on this machine, and the administrator's does`(url: String) async throws {
        try await TestShop.run(devices: [], { $0.allowsLocalHooks = false }) { shop in
            let body = #"{"bundleID":"\#(TestShop.bundleID)","url":"\#(url)"}"#
            let refused = try await shop.provider.ask(.POST, "/v1/hooks", body, key: shop.serverKey)
            #expect(refused.status == 403 && refused.pointer == "/url", "\(refused.body.text)")
            let made = try await shop.provider.ask(.POST, "/v1/hooks", body, key: shop.provider.administratorKey)
            #expect(made.status == 201)
        }
    }

    @Test func `Null counts as missing in a request`() async throws {
        try await TestShop.run(devices: []) { shop in
            let requests = [
                ("/v1/hooks", #"{"bundleID":null,"url":"https://example.com/"}"#, 201, ""),
                ("/v1/hooks", #"{"bundleID":null,"url":null}"#, 400, ""),
                // The app names no management of channels, so a request without a fault goes no further.
                ("/v1/channels", #"{"bundleID":null,"environment":"development","keeps":null}"#, 409, ""),
            ]
            for (path, body, status, pointer) in requests {
                let answer = try await shop.provider.ask(.POST, path, body, key: shop.serverKey)
                #expect(answer.status == status && (answer.pointer ?? "") == pointer, "\(answer.body.text)")
            }
        }
    }

    @Test func `The port of a hook follows from its scheme, in capital letters too`() {
        #expect(HookURL("HTTP://127.0.0.1/x")?.port == 80 && HookURL("HTTPS://example.com/x")?.port == 443)
        #expect(HookURL("https://example.com:8443/x")?.port == 8_443)
        #expect(HookURL("HTTP://example.com/x") == nil && HookURL("https://example.com:0/x") == nil)
    }

    @Test func `The number of hooks is limited, and they are deleted`() async throws {
        try await TestShop.run(devices: []) { shop in
            var ids: [String] = []
            for _ in 0..<ProviderServerLimits.hooks {
                let made = try await shop.provider.ask(
                    .POST, "/v1/hooks", #"{"url":"https://example.com/"}"#, key: shop.serverKey)
                ids.append(try made.text("id"))
            }
            func post() async throws -> Int {
                try await shop.provider.ask(
                    .POST, "/v1/hooks", #"{"url":"https://example.com/"}"#, key: shop.serverKey
                ).status
            }
            #expect(try await post() == 409)
            #expect(try await shop.provider.ask(.DELETE, "/v1/hooks/\(ids[0])", key: shop.serverKey).status == 204)
            #expect(try await shop.provider.ask(.DELETE, "/v1/hooks/\(ids[0])", key: shop.serverKey).status == 404)
            let log = "/v1/hooks/\(ids[0])/deliveries"
            #expect(try await shop.provider.ask(.GET, log, key: shop.serverKey).status == 404)
            #expect(try await post() == 201)
        }
    }
}
