import Crypto
import Foundation
import HTTP2
import Logging
import NIOCore
import ProviderTesting
import Testing

@testable import APNSProvider

/// Faults of the server or of a file. For each, an error says what happened, before the deadline, and no notification
/// that may have been accepted is sent twice.
@Suite(.timeLimit(.minutes(2))) struct BadInputTests {
    private func sends(
        to environment: APNSEnvironment,
        internals: ProviderClient.Internals = .init(),
        deadline: Duration = .seconds(2),
        connectsAhead: Bool = true,
    ) async throws -> ProviderError? {
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = InMemoryProviderTokenStore()
        let client = try ProviderClient(
            credentials: TestAuthority.credentials(), environment: environment, configuration: configuration,
            logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() }, internals: internals)
        let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
        let error = await failure { () throws(ProviderError) in
            // Connect before, because a busy machine takes long to connect, and that must not count here.
            if connectsAhead { try await client.connect(within: .seconds(60)) }
            try await client.send(notification, to: token, deadline: deadline)
        }
        await client.shutDown()
        return error
    }

    // MARK: No connection

    @Test func `An unknown host`() async throws {
        let error = try await sends(to: APNSEnvironment(host: "nobody.invalid"))
        #expect(error?.code == .cannotConnect)
        #expect(error?.cause.contains("nobody.invalid") == true)
    }

    @Test func `Nobody listens`() async throws {
        // Nothing listens on port 1 of the loopback address.
        let error = try await sends(
            to: APNSEnvironment(host: "127.0.0.1", port: 1), deadline: .seconds(8), connectsAhead: false)
        #expect(error?.code == .cannotConnect)
        #expect(error?.cause.contains("refused") == true)
    }

    @Test func `A server that never begins TLS`() async throws {
        try await RawServer.run(.silent) { environment in
            var internals = ProviderClient.Internals()
            internals.openTimeout = .milliseconds(50)
            let error = try await sends(to: environment, internals: internals)
            #expect(error?.code == .cannotConnect)
            #expect(error?.cause.contains("did not answer in time") == true, "\(String(describing: error))")
        }
    }

    @Test func `A server of another authority`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let error = try await sends(to: APNSEnvironment(host: "127.0.0.1", port: server.port))
            #expect(error?.code == .cannotConnect)
            let words = "authority that is trusted here (CERTIFICATE_VERIFY_FAILED)"
            #expect(error?.cause.hasSuffix(words) == true, "\(String(describing: error))")
            #expect(error?.cause.contains("channel error") == false)
            #expect(server.log.requests.isEmpty)
        }
    }

    @Test func `A server that refuses HTTP 2 in the TLS handshake is named as one that does not speak it`() {
        // As NIOSSL gives BoringSSL's errors.
        struct Alert: Error, CustomStringConvertible {
            let description =
                "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268436576 error:10000460:SSL routines:"
                + "OPENSSL_internal:TLSV1_ALERT_NO_APPLICATION_PROTOCOL at tls_record.cc:486]))"
        }
        let cause = ServerConnection.cause(of: .channelError(Alert()))
        #expect(cause.contains("does not speak HTTP/2") && !cause.contains("TLSV1"), "\(cause)")
    }

    @Test func `A server that speaks HTTP 1`() async throws {
        let html = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/html\r\n\r\n<html>No</html>"
        try await RawServer.run(.answering(html)) { environment in
            let error = try await sends(to: environment)
            #expect(error?.code == .cannotConnect)
            #expect(error?.cause.contains("does not speak HTTP/2") == true)
        }
    }

    @Test(arguments: [[], ["http/1.1"]]) func `A server that does not choose HTTP 2 gets no request`(
        _ protocols: [String]
    ) async throws {
        var options = ScriptedServer.Options()
        options.protocols = protocols
        try await ScriptedServer.run(options, script: { $1.answer($0.stream) }) { server in
            let error = try await sends(to: try server.environment())
            #expect(error?.code == .cannotConnect)
            #expect(error?.mayHaveBeenTaken == false)
            #expect(server.log.requests.isEmpty)
        }
    }

    @Test func `A server that asks for a certificate and gets none`() async throws {
        var options = ScriptedServer.Options()
        options.asksForCertificate = true
        try await ScriptedServer.run(options, script: { $1.answer($0.stream) }) { server in
            let error = try await sends(to: try server.environment())
            #expect(error?.code == .cannotConnect)
            #expect(error?.mayHaveBeenTaken == false)
        }
    }

    // MARK: No answer

    @Test func `A server that never answers is not asked twice`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            let error = try await sends(to: try server.environment())
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.mayHaveBeenTaken == true)
            await server.log.cancelled(1)
            #expect(server.log.requests.count == 1)
        }
    }

    @Test func `A server that allows no streams`() async throws {
        var options = ScriptedServer.Options()
        options.streams = 0
        try await ScriptedServer.run(options, script: { $1.answer($0.stream) }) { server in
            let error = try await sends(to: try server.environment())
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.cause == "The service allows no streams.")
            #expect(error?.mayHaveBeenTaken == false)
            #expect(server.log.connections == 1)
        }
    }

    @Test func `A server that closes in the middle of its answer`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.begin(request.stream)
            connection.afterRoundTrip { connection.close() }
        }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error?.code == .connectionLost)
            #expect(error?.mayHaveBeenTaken == true)
            #expect(server.log.requests.count == 1)
        }
    }

    @Test func `A server that resets every stream`() async throws {
        try await ScriptedServer.run(script: { $1.reset($0.stream, .internalError) }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error?.code == .gaveUp)
            #expect(error?.cause.contains("INTERNAL_ERROR") == true)
            #expect(server.log.requests.count == 1)
        }
    }

    @Test func `A server that refuses every stream`() async throws {
        try await ScriptedServer.run(script: { $1.reset($0.stream, .refusedStream) }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(8))
            #expect(error?.code == .gaveUp)
            #expect(error?.mayHaveBeenTaken == false)
            #expect(server.log.requests.count > 1)
        }
    }

    // MARK: Strange answers

    @Test(arguments: [200, 404]) func `An answer in HTML`(_ status: Int) async throws {
        try await ScriptedServer.run(script: {
            $1.answer($0.stream, status: status, id: nil, body: "<html>Welcome</html>")
        }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error?.code == .unexpectedAnswer)
            #expect(error?.cause.contains("\(status)") == true)
            #expect(server.log.requests.count == 1)
        }
    }

    @Test func `A 502 in HTML is tried again`() async throws {
        try await ScriptedServer.run(script: {
            if $0.number == 0 {
                $1.answer($0.stream, status: 502, id: nil, body: "<html>Bad gateway</html>")
            } else {
                $1.answer($0.stream)
            }
        }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error == nil)
            #expect(server.log.requests.count == 2)
        }
    }

    @Test func `A 502 in HTML to the end`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 502, id: nil, body: "<html></html>") }) {
            let error = try await sends(to: try $0.environment())
            #expect(error?.code == .unexpectedAnswer)
        }
    }

    @Test func `An answer without end`() async throws {
        let long = String(repeating: "x", count: ServerConnection.maximumAnswerBytes + 1)
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 400, body: long) }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error?.code == .unexpectedAnswer)
        }
    }

    @Test func `A success without end may have been accepted`() async throws {
        let long = String(repeating: "x", count: ServerConnection.maximumAnswerBytes + 1)
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 200, body: long) }) { server in
            let error = try await sends(to: try server.environment(), deadline: .seconds(20))
            #expect(error?.mayHaveBeenTaken == true)
        }
    }

    @Test func `A reason that nobody knows is kept`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 400, reason: "MoonInWrongPhase") }) {
            let error = try await sends(to: try $0.environment(), deadline: .seconds(20))
            #expect(error?.rejection?.reason.rawValue == "MoonInWrongPhase")
            #expect(error?.rejection?.advice == .fixRequest)
        }
    }

    // MARK: The caller

    @Test func `More than may wait`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            try await server.withClient({ $0.maximumWaiting = 2 }) { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let codes = await withTaskGroup(of: ProviderError.Code?.self) { group in
                    for _ in 0..<5 {
                        group.addTask {
                            await failure { () throws(ProviderError) in
                                try await client.send(notification, to: token, deadline: .seconds(1))
                            }?.code
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(codes.contains(.overloaded))
                #expect(codes.contains(.deadlineExceeded))
            }
        }
    }

    @Test func `A cancelled task gives up its stream`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            try await server.withClient { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let sending = Task {
                    await failure { () throws(ProviderError) in try await client.send(notification, to: token) }
                }
                await server.log.requests(1)
                sending.cancel()
                let code = await sending.value?.code
                #expect(code == .cancelled)
                await server.log.cancelled(1)
            }
        }
    }

    @Test func `Who is cancelled does not wait for a connection`() async throws {
        try await RawServer.run(.silent) { environment in
            let client = try ProviderClient(credentials: TestAuthority.credentials(), environment: environment)
            let connecting = Task {
                await failure { () throws(ProviderError) in try await client.connect(within: .seconds(600)) }
            }
            connecting.cancel()
            let code = await connecting.value?.code
            #expect(code == .cancelled)
            await client.shutDown()
        }
    }

    @Test func `After the shutdown nothing is sent`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                await client.shutDown()
                let error = await failure { () throws(ProviderError) in
                    try await client.send(notification, to: token)
                }
                #expect(error?.code == .shutDown)
                #expect(server.log.requests.isEmpty)
            }
        }
    }
}
