import CommonTesting
import AsyncHTTPClient
import Foundation
import HTTPAPI
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOSSL
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Connections that no request ends: they are closed while the server runs, and do not keep it from ending.
@Suite(.timeLimit(.minutes(3))) struct ConnectionGuardTests {
    /// The beginning of an HTTP/2 connection: the preface and empty SETTINGS (RFC 9113, 3.4).
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    @Test func `A client that never begins TLS, or that answers no PING, loses its connection`() async throws {
        try await TestProvider.runWithTLS {
            $0.idleTimeout = .seconds(1)
        } _: { provider, port, authority in
            let silent = try await RawClient.connect(provider)
            let onlyTLS = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            let unanswering = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            try await unanswering.write(Self.preface)
            #expect(await silent.readToEnd() == "")
            _ = await onlyTLS.readToEnd()
            // It gets SETTINGS first, and GOAWAY before the end.
            #expect(await unanswering.readToEnd().count > 9)
        }
    }

    @Test func `Connections without a request do not keep the server from ending`() async throws {
        try await TestProvider.runWithTLS {
            $0.endTimeout = .seconds(1)
        } _: { provider, port, authority in
            _ = try await RawClient.connect(provider)
            let unanswering = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            try await unanswering.write(Self.preface)
            _ = await unanswering.read(9)
        }
    }

    @Test func `Requests that never end do not keep the server from ending`() async throws {
        try await TestShop.run(devices: []) {
            $0.endTimeout = .seconds(1)
        } _: { shop in
            let key = "authorization: Bearer \(shop.serverKey)\r\n"
            let waiting = try await RawClient.connect(shop.provider)
            try await waiting.write(
                "PUT /v1/installations/i HTTP/1.1\r\nhost: x\r\n\(key)content-length: 100\r\nexpect: 100-continue\r\n\r\n{"
            )
            #expect(await waiting.next()?.hasPrefix("HTTP/1.1 100 ") == true)
            let importing = try await RawClient.connect(shop.provider)
            try await importing.write(
                "POST /v1/installations/import HTTP/1.1\r\nhost: x\r\n\(key)content-type: text/csv\r\n"
                    + "expect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n")
            #expect(await importing.next()?.hasPrefix("HTTP/1.1 100 ") == true)
            // Sends fast enough for the limit of slow bodies, until the server closes the connection.
            Task {
                while (try? await importing.write("800\r\n\(String(repeating: "a", count: 0x7ff))\n\r\n")) != nil {
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    @Test func `A client that got its answer cannot hold the connection with an endless body`() async throws {
        try await TestProvider.run {
            $0.idleTimeout = .seconds(1)
        } _: { provider in
            var (client, answer): (RawClient, String?)
            repeat {
                client = try await RawClient.connect(provider)
                try? await client.write(
                    "POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
                // On a busy machine the idle time may end before the answer: then there is none.
                answer = try? await client.answer()
            } while answer == nil
            #expect(answer?.hasPrefix("HTTP/1.1 401 ") == true)
            while (try? await client.write("800\r\n\(String(repeating: "a", count: 0x7ff))\n\r\n")) != nil {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    @Test func `A body without end is read to a limit, although its client has no key`() async throws {
        try await TestProvider.run { provider in
            let client = try await RawClient.connect(provider)
            try await client.write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
            #expect(try await client.answer().hasPrefix("HTTP/1.1 401 "))
            let chunk = "10000\r\n\(String(repeating: "a", count: 0x10000))\r\n"
            var sent = 0
            // The system's buffers take some of it.
            while sent < 64 * RequestLimits.drainedBytes, (try? await client.write(chunk)) != nil { sent += 0x10000 }
            #expect(sent < 64 * RequestLimits.drainedBytes)
        }
    }

    @Test func `While a request is under way, no time closes its connection, and then the idle time begins anew`()
        throws
    {
        let guarded = ConnectionGuard(
            ConnectionGuard.Times(
                first: .seconds(30), idle: .seconds(30), ending: .seconds(10), idleEnding: .seconds(2)))
        let channel = EmbeddedChannel(handler: guarded)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        for _ in 0..<2 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            // Two requests are under way at the same time.
            guarded.requestBegan()
            guarded.requestBegan()
            channel.embeddedEventLoop.advanceTime(by: .hours(1))
            guarded.requestsEnded()
            channel.embeddedEventLoop.advanceTime(by: .hours(1))
            #expect(channel.isActive)
            guarded.requestsEnded()
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    /// A clock on which a request that stops a message waits until the test lets it go on.
    private final class PatientClock: Sendable {
        private let begins = AsyncStream.makeStream(of: Void.self)
        private let releases = AsyncStream.makeStream(of: Void.self)

        var clock: ProviderClock {
            ProviderClock(now: ProviderClock.system.now) { [begins, releases] duration in
                guard duration == ProviderServerLimits.stopPatience else {
                    return await ProviderClock.system.sleep(duration)
                }
                begins.continuation.finish()
                for await _ in releases.stream {}
            }
        }

        /// Returns when a request waits.
        func began() async { for await _ in begins.stream {} }

        func release() { releases.continuation.finish() }
    }

    /// Accepts connections, and never answers on them.
    private static func makeSilentServer() async throws -> (server: any Channel, accepted: AsyncStream<Void>) {
        let (accepted, accept) = AsyncStream.makeStream(of: Void.self)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                accept.finish()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return (server, accepted)
    }

    private static func withClient(
        _ authority: String,
        _ version: HTTPClient.Configuration.HTTPVersion,
        _ body: (HTTPClient) async throws -> Void,
    ) async throws {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = version
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(authority)
        configuration.tlsConfiguration = tls
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        try await withCleanUp {
            try await body(client)
        } cleanUp: {
            try await client.shutdown()
        }
    }

    @Test(arguments: [false, true])
    func `A request that takes longer than the idle timeout is answered`(isHTTP2: Bool) async throws {
        let time = PatientClock()
        let (service, accepted) = try await Self.makeSilentServer()
        let port = try required(service.localAddress?.port)
        try await TestProvider.runWithTLS {
            $0.idleTimeout = .seconds(1)
            $0.clock = time.clock
            // At its end, the server waits for the notification until then.
            $0.deadline = .seconds(10)
        } _: { provider, _, authority in
            try await Self.withClient(authority, isHTTP2 ? .automatic : .http1Only) { client in
                let provider = TestProvider(
                    url: provider.url, folder: provider.folder, administratorKey: provider.administratorKey,
                    client: client)
                let document = TestShop.other().replacing("127.0.0.1:1\"", with: "127.0.0.1:\(port)\"")
                let app = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document)
                let key = try app.text("serverKey")
                let installation = try await provider.ask(
                    .PUT, "/v1/installations/i", #"{"deviceToken":"00","environment":"development"}"#, key: key)
                #expect(installation.status == 200, "\(installation.body.text)")
                let message = try await provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"Hello"}}}"#,
                    key: key)
                let id = try message.text("id")
                for await _ in accepted {}
                // The service does not answer, so this request waits.
                async let paused = provider.ask(.POST, "/v1/messages/\(id)/pause", key: key)
                await time.began()
                // A connection without a request has been closed: the idle timeout is over.
                let silent = try await RawClient.connect(provider)
                #expect(await silent.readToEnd() == "")
                time.release()
                let answer = try await paused
                #expect(answer.status == 200 && answer["state"] == "paused")
                #expect(answer.version.major == (isHTTP2 ? 2 : 1))
            }
        }
        try await service.close()
    }
}
