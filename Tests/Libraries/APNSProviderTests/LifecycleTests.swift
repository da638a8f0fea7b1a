import Logging
import NIOCore
import ProviderTesting
import ServiceLifecycle
import Testing

@testable import APNSProvider

/// A client as a service of swift-service-lifecycle, and in its scoped form.
@Suite(.timeLimit(.minutes(1))) struct LifecycleTests {
    /// Signals that the service group runs.
    private struct Beginning: Service {
        let begun: AsyncStream<Void>.Continuation

        func run() async throws {
            begun.finish()
            try await gracefulShutdown()
        }
    }

    /// A script that answers when the test tells it to.
    private func holding() -> (script: ScriptedServer.Script, held: AsyncStream<@Sendable () -> Void>) {
        let (held, hold) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        return (
            { request, connection in
                let bound = NIOLoopBound(connection, eventLoop: connection.channel.eventLoop)
                hold.yield { bound.execute { $0.answer(request.stream) } }
            }, held
        )
    }

    @Test func `At a graceful shutdown what is under way is answered first`() async throws {
        let (script, held) = holding()
        try await ScriptedServer.run(script: script) { server in
            try await server.withClient { client in
                let (begun, begin) = AsyncStream.makeStream(of: Void.self)
                let group = ServiceGroup(
                    services: [client, Beginning(begun: begin)],
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                let running = Task { try await group.run() }
                for await _ in begun {}
                async let errors = client.errors(sending: 1)
                var answers = held.makeAsyncIterator()
                let answer = try #require(await answers.next())
                await group.triggerGracefulShutdown()
                answer()
                let answered = try await errors
                #expect(answered.isEmpty)
                try await running.value
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let error = await failure { () throws(ProviderError) in
                    try await client.send(notification, to: token)
                }
                #expect(error?.code == .shutDown)
                #expect(server.log.requests.count == 1)
            }
        }
    }

    @Test func `The scoped form ends its connections and gives the result`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let receipt = try await ProviderClient.withClient(
                credentials: TestAuthority.credentials(), environment: server.environment()
            ) { client in
                try await client.send(Sample.notification(), to: Sample.deviceToken())
            }
            #expect(receipt.apnsID == "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
            await server.log.closed(1)
        }
    }

    @Test func `The scoped form ends with the error of its body`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let environment = try server.environment()
            await #expect(throws: ProviderTestError.self) {
                try await ProviderClient.withClient(
                    credentials: TestAuthority.credentials(), environment: environment
                ) { client in
                    try await client.connect()
                    throw ProviderTestError()
                }
            }
            await server.log.closed(1)
        }
    }
}
