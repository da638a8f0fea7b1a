import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import APNSDevice

/// A request to a provider server whose answer a test writes byte by byte.
@Suite(.timeLimit(.minutes(1)))
struct ProviderExchangeTests {
    /// What the server does once the request has arrived.
    private enum Manner: Sendable {
        case answering(String)
        case closing
        case silent
    }

    private final class Responder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let manner: Manner
        private let requests: Observed<[String]>
        private var request = ""

        init(_ manner: Manner, _ requests: Observed<[String]>) {
            self.manner = manner
            self.requests = requests
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            request += String(buffer: unwrapInboundIn(data))
            guard request.hasSuffix("{}") else { return }
            requests.update { [request] in $0.append(request) }
            switch manner {
            case .answering(let text):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .closing: context.close(promise: nil)
            case .silent: break
            }
        }
    }

    /// Sends `{}` to a server of this manner.
    /// - Returns: The answer, and the request as the server got it.
    private static func put(
        _ manner: Manner, timeout: TimeAmount = .seconds(50),
    ) async throws -> (result: Result<ProviderExchange.Answer, DeviceError>, request: String?) {
        let requests = Observed<[String]>([])
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Responder(manner, requests))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let server = try ProviderServerAddress("http://127.0.0.1:\(port)/push/", authorityFile: nil)
        let result: Result<ProviderExchange.Answer, DeviceError>
        do throws(DeviceError) {
            result = .success(
                try await ProviderExchange.send(
                    .PUT, "/v1/installations/5", Data("{}".utf8), headers: [("authorization", "Bearer ck_1")],
                    to: server,
                    timeout: timeout, on: group))
        } catch {
            result = .failure(error)
        }
        try await listener.close()
        return (result, requests.value.first)
    }

    private static func answer(_ text: String) async throws -> ProviderExchange.Answer {
        try await put(.answering(text)).result.get()
    }

    private static func failure(_ manner: Manner, timeout: TimeAmount = .seconds(50)) async throws -> DeviceError.Code?
    {
        if case .failure(let error) = try await put(manner, timeout: timeout).result { error.code } else { nil }
    }

    @Test
    func `The request has the path below the server's, its host, and the key`() async throws {
        let request = try #require(
            try await Self.put(.answering("HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n")).request)
        #expect(request.hasPrefix("PUT /push/v1/installations/5 HTTP/1.1\r\n"))
        for line in ["content-type: application/json", "content-length: 2", "authorization: Bearer ck_1"] {
            #expect(request.contains("\r\n\(line)\r\n"), "\(request)")
        }
        #expect(request.firstMatch(of: /\r\nhost: 127\.0\.0\.1:[0-9]+\r\n/) != nil)
    }

    @Test
    func `An answer has its status; one before it does not count`() async throws {
        let answer = try await Self.answer(
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        #expect(answer.status == 200)
    }

    @Test(arguments: [
        (#"{"title":"Bad Request","detail":"a tag has a blank"}"#, "a tag has a blank"),
        ("<html>", "The provider server answered 400."), ("", "The provider server answered 400."),
    ])
    func `The cause of an error is the server's sentence, if it has one`(body: String, cause: String) async throws {
        let answer = try await Self.answer(
            "HTTP/1.1 400 Bad Request\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(answer.status == 400 && answer.cause == cause)
    }

    @Test
    func `An answer that is too long, or that is not HTTP, is an error`() async throws {
        let long = String(repeating: "x", count: 65_537)
        #expect(
            try await Self.failure(
                .answering("HTTP/1.1 200 OK\r\ncontent-length: \(long.utf8.count)\r\n\r\n\(long)")) == .badResponse)
        #expect(try await Self.failure(.answering("220 mail.example.com ESMTP\r\n")) == .notConnected)
    }

    @Test
    func `A server that closes the connection, or does not answer, is a temporary error`() async throws {
        #expect(try await Self.failure(.closing) == .disconnected)
        // Connecting has the same timeout, and takes its time on a busy machine.
        #expect(try await Self.failure(.silent, timeout: .seconds(2)) == .timedOut)
    }
}
