import Foundation
import HTTP2
import ProviderTesting
import Testing

@testable import APNSProvider

/// Each error of a request that the service may have accepted says so once, and no other error says it.
@Suite(.timeLimit(.minutes(2))) struct DoubtfulCauseTests {
    /// What a server does to a request, so that nobody knows whether it was accepted.
    enum Fault: CaseIterable {
        case noAnswer, reset, closed, endlessSuccess, pageOfSuccess

        func act(_ request: ScriptedRequest, _ connection: ScriptedConnection) {
            switch self {
            case .noAnswer: return
            case .reset: connection.reset(request.stream, .internalError)
            case .closed: connection.afterRoundTrip { connection.close() }
            case .endlessSuccess:
                let long = String(repeating: "x", count: ServerConnection.maximumAnswerBytes + 1)
                connection.answer(request.stream, status: 200, body: long)
            case .pageOfSuccess: connection.answer(request.stream, status: 200, id: nil, body: "<html>Welcome</html>")
            }
        }

        var code: ProviderError.Code {
            switch self {
            case .noAnswer: .deadlineExceeded
            case .reset: .gaveUp
            case .closed: .connectionLost
            case .endlessSuccess, .pageOfSuccess: .unexpectedAnswer
            }
        }
    }

    private func saysItOnce(_ error: ProviderError?) -> Bool {
        error?.mayHaveBeenTaken == true && error?.cause.components(separatedBy: "may have accepted").count == 2
    }

    @Test(arguments: Fault.allCases)
    func `A request that the service may have accepted ends with a cause that says so`(_ fault: Fault) async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.number == 0 ? connection.answer(request.stream) : fault.act(request, connection)
        }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let error = await failure { () throws(ProviderError) in
                    try await client.send(
                        notification, to: token, deadline: fault == .noAnswer ? .seconds(2) : .seconds(60))
                }
                #expect(error?.code == fault.code && saysItOnce(error), "\(String(describing: error))")
            }
        }
    }

    @Test func `So does a request that was cancelled when it had been sent`() async throws {
        let (arrived, arrival) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run(script: { _, _ in arrival.finish() }) { server in
            try await server.withClient { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let task = Task {
                    await failure { () throws(ProviderError) in try await client.send(notification, to: token) }
                }
                for await _ in arrived {}
                task.cancel()
                let error = await task.value
                #expect(error?.code == .cancelled && saysItOnce(error), "\(String(describing: error))")
            }
        }
    }

    @Test func `So does a channel whose identifier the answer has not`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 201, body: nil) }) { server in
            let manager = try ChannelManager(
                credentials: TestAuthority.credentials(), environment: server.environment())
            let error = await failure { () throws(ProviderError) in
                try await manager.create(keeping: .nothing, for: Sample.topic)
            }
            await manager.shutDown()
            #expect(error?.code == .unexpectedAnswer && saysItOnce(error), "\(String(describing: error))")
        }
    }

    @Test func `So does what the binary API has sent without an outcome, and the rest does not`() {
        var window = BinaryWindow(count: 2, limits: .init(kept: 1))
        let lost = ProviderError(.connectionLost, "It is gone.", mayHaveBeenTaken: true)
        _ = window.ended(.lost(lost))
        window.giveUp(lost)
        guard case .failed(let sent)? = window.outcomes[0], case .failed(let rest)? = window.outcomes[1] else {
            return #expect(Bool(false), "\(window.outcomes)")
        }
        #expect(saysItOnce(sent))
        #expect(!rest.mayHaveBeenTaken && rest.cause == "It is gone.")
    }
}
