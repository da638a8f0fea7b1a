import CommonTesting
import Connections
import Foundation
import HTTP2
import NIOCore
import ProviderTesting
import Synchronization
import Testing

@testable import APNSProvider

/// How a client uses its connections (Guide, 2.3.3 and 2.3.3.1), over real TLS.
@Suite(.timeLimit(.minutes(2))) struct ConnectionTests {
    @Test func `A name that could not be looked up is not called unknown`() {
        #expect(HostLookup.cause(of: EAI_NONAME, "h.example") == "the name h.example is not known")
        #expect(HostLookup.cause(of: EAI_AGAIN, "h.example").hasPrefix("the name h.example cannot be looked up: "))
    }

    @Test func `One stream until the first token is accepted`() async throws {
        let isAnswered = Mutex(false)
        try await ScriptedServer.run(script: { request, connection in
            guard !isAnswered.withLock({ $0 }) else { return connection.answer(request.stream) }
            // After a round trip, everything that the client had sent before has arrived.
            connection.afterRoundTrip {
                if connection.open.count > 1 {
                    Issue.record("\(connection.open.count) streams before the first answer")
                }
                isAnswered.withLock { $0 = true }
                for stream in connection.open { connection.answer(stream) }
            }
        }) { server in
            try await server.withClient { client in
                try await client.accepts(20)
                #expect(server.log.requests.count == 20)
            }
        }
    }

    /// The first connection keeps its key. The client opens a new one for the other key.
    @Test func `A key that is not related is sent on another connection`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            if connection.number == 0 {
                connection.answer(request.stream, status: 403, reason: "UnrelatedKeyIdInToken")
            } else {
                connection.answer(request.stream)
            }
        }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                await server.log.closed(1)
                #expect(server.log.requests.map(\.connection) == [0, 1])
            }
        }
    }

    @Test func `With a certificate there is no such limit`() async throws {
        var options = ScriptedServer.Options()
        options.asksForCertificate = true
        let made = try TestAuthority.providerCertificate()
        let credentials = try ProviderCredentials(certificate: made.chain + made.key)
        try await ScriptedServer.run(
            options,
            script: { request, connection in
                // Answer only when all five have arrived.
                guard connection.open.count == 5 else { return }
                for stream in connection.open { connection.answer(stream) }
            }
        ) { server in
            try await server.withClient(credentials: credentials) { client in
                try await client.accepts(5)
                #expect(server.log.requests.allSatisfy { $0.token.isEmpty })
            }
        }
    }

    @Test func `Connections are spread over all addresses looked up afresh for each`() async throws {
        var options = ScriptedServer.Options()
        options.hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        options.streams = 1
        let lookUps = Mutex(0)
        let held = Mutex<[@Sendable () -> Void]>([])
        try await ScriptedServer.run(
            options,
            script: { request, connection in
                // The first request on each connection is answered at once, because it shows that the token is valid.
                // The others are answered together.
                let bound = NIOLoopBound(connection, eventLoop: connection.channel.eventLoop)
                guard request.stream.rawValue > 1 else { return connection.answer(request.stream) }
                let waiting = held.withLock { held in
                    held.append { bound.execute { $0.answer(request.stream) } }
                    return held.count >= 3 ? held : []
                }
                for answer in waiting { answer() }
            }
        ) { server in
            var internals = ProviderClient.Internals()
            let (port, hosts) = (server.port, options.hosts)
            internals.lookUp = HostLookup { _, _ in
                lookUps.withLock { $0 += 1 }
                return try hosts.map { try SocketAddress(ipAddress: $0, port: port) }
            }
            try await server.withClient({ $0.maximumConnections = 3 }, internals: internals) { client in
                try await client.accepts(40)
                #expect(Set(server.log.hosts) == Set(options.hosts))
                #expect(lookUps.withLock { $0 } == server.log.connections)
            }
        }
    }

    @Test func `Addresses that refuse are passed over in one attempt`() async throws {
        let lookUps = Mutex(0)
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            var internals = ProviderClient.Internals()
            let port = server.port
            internals.lookUp = HostLookup { _, _ in
                lookUps.withLock { $0 += 1 }
                // Nobody listens at the others. The order is random, so one of them nearly always comes first.
                return try [1, 11, 12, 13, 14, 15, 16, 17, 18, 19].map {
                    try SocketAddress(ipAddress: "127.0.0.\($0)", port: port)
                }
            }
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                #expect(lookUps.withLock { $0 } == 1)
            }
        }
    }

    @Test
    func `Somebody who asks for a connection again gets one, also within the delay after a failure`() async throws {
        let lookUps = Mutex(0)
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            var internals = ProviderClient.Internals()
            let port = server.port
            internals.lookUp = HostLookup { _, _ in
                // Nobody listens at the first address.
                let isFirst = lookUps.withLock { count in
                    count += 1
                    return count == 1
                }
                return [try SocketAddress(ipAddress: isFirst ? "127.0.0.11" : "127.0.0.1", port: port)]
            }
            try await server.withClient(internals: internals) { client in
                let error = await failure { () async throws(ProviderError) in try await client.connect() }
                #expect(error?.code == .cannotConnect)
                try await client.connect(within: .seconds(60))
                #expect(lookUps.withLock { $0 } == 2)
            }
        }
    }

    @Test func `A quiet connection is pinged`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            var internals = ProviderClient.Internals()
            internals.keepAlive.idle = .milliseconds(10)
            // On a slow machine an answer may take long, and the connection is not given up in this test.
            internals.keepAlive.answer = .hours(1)
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                await server.log.frame(6)
                try await client.accepts(1)
                #expect(server.log.connections == 1)
            }
        }
    }

    @Test func `A connection that answers nothing is given up`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.connection == 0 else { return connection.answer(request.stream) }
            // From here on, read nothing, without closing the connection.
            _ = connection.channel.setOption(.autoRead, value: false)
        }) { server in
            var internals = ProviderClient.Internals()
            internals.keepAlive.waiting = .milliseconds(20)
            internals.keepAlive.answer = .milliseconds(50)
            try await server.withClient(internals: internals) { client in
                let errors = try await client.errors(sending: 1)
                #expect(errors.map(\.code) == [.connectionLost])
                #expect(errors.first?.cause.contains("PING") == true)
                try await client.accepts(1)
            }
        }
    }

    /// The server takes everything on its first connection and answers nothing, not even PING, as if the network had lost it.
    @Test func `A connection that dies without a word costs only what was sent on it`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.answer(request.stream)
            if request.connection == 0 { _ = connection.channel.setOption(.autoRead, value: false) }
        }) { server in
            var internals = ProviderClient.Internals()
            internals.keepAlive.waiting = .milliseconds(20)
            // It is not closed in this test.
            internals.keepAlive.answer = .hours(1)
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                // The first one finds the connection dead, and nobody waits for it.
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken(1))
                let lost = Task { try await client.send(notification, to: token) }
                // Until the connection is suspect, requests go to it.
                try await wait(while: try await !client.isSuspect())
                try await client.accepts(50)
                #expect(server.log.requests.dropFirst().allSatisfy { $0.connection > 0 })
                lost.cancel()
                _ = await lost.result
            }
        }
    }

    @Test func `An idle connection that is dead is not used again`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.answer(request.stream)
            if request.connection == 0 { _ = connection.channel.setOption(.autoRead, value: false) }
        }) { server in
            var internals = ProviderClient.Internals()
            internals.keepAlive.unchecked = .nanoseconds(0)
            internals.keepAlive.patience = .milliseconds(10)
            internals.keepAlive.answer = .hours(1)
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                try await client.accepts(10)
                #expect(server.log.requests.map(\.connection).contains(0))
                // On a slow machine a good connection may be late too, and one more is opened.
                #expect(server.log.requests.dropFirst().allSatisfy { $0.connection > 0 })
            }
        }
    }

    @Test func `A first request that hangs does not keep the others waiting`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            if request.number > 0 { connection.answer(request.stream) }
        }) { server in
            var internals = ProviderClient.Internals()
            internals.limits.firstAnswer = .milliseconds(20)
            try await server.withClient(internals: internals) { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken(1))
                let hanging = Task { try await client.send(notification, to: token) }
                await server.log.requests(1)
                try await client.accepts(20)
                #expect(server.log.connections > 1)
                hanging.cancel()
                _ = await hanging.result
            }
        }
    }

    // MARK: GOAWAY

    @Test func `A server that goes away after each ten answers is not waited for`() async throws {
        let answers = Mutex<[Int: Int]>([:])
        try await ScriptedServer.run(script: { request, connection in
            let count = answers.withLock { answers in
                answers[connection.number, default: 0] += 1
                return answers[connection.number] ?? 0
            }
            guard count <= 10 else { return }
            connection.answer(request.stream)
            if count == 10 { connection.goAway(lastStream: request.stream, reason: "Shutdown") }
        }) { server in
            var internals = ProviderClient.Internals()
            // A pause would last longer than the test.
            internals.limits.delays = GrowingDelay(first: .hours(1), longest: .hours(1))
            try await server.withClient(internals: internals) { client in
                try await client.accepts(200)
                #expect(server.log.connections >= 20)
            }
        }
    }

    @Test func `What was not processed is sent again elsewhere and nothing else is`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.connection == 0, request.number > 0 else { return connection.answer(request.stream) }
            // Three requests are open. The service says that it has processed only the first, and answers it.
            guard connection.open.count == 3 else { return }
            let first = connection.open[0]
            connection.goAway(lastStream: first, reason: "Shutdown")
            connection.answer(first)
        }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                try await client.accepts(3)
                var seen: [String: Int] = [:]
                for request in server.log.requests.dropFirst() { seen[request.path, default: 0] += 1 }
                #expect(seen.values.sorted() == [1, 2, 2])
                #expect(server.log.connections == 2)
            }
        }
    }

    @Test func `What may have been processed is not sent again`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.number > 0 else { return connection.answer(request.stream) }
            connection.goAway(reason: "InternalServerError")
            connection.afterRoundTrip { connection.close() }
        }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                let errors = try await client.errors(sending: 1)
                #expect(errors.map(\.code) == [.connectionLost])
                #expect(errors.first?.cause.contains("InternalServerError") == true)
                #expect(server.log.requests.count == 2)
            }
        }
    }

    @Test func `A server that goes away after every request gets each once`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.answer(request.stream)
            connection.goAway(reason: "Shutdown")
        }) { server in
            try await server.withClient { client in
                try await client.accepts(4)
                #expect(server.log.requests.count == 4)
                #expect(Set(server.log.requests.map(\.path)).count == 4)
            }
        }
    }

    // MARK: Trying again

    @Test(arguments: [
        (429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable"), (503, "Shutdown"),
    ])
    func `Is sent again after a delay`(_ status: Int, _ reason: String) async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream, status: status, reason: reason) : connection.answer(request.stream)
        }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                #expect(server.log.requests.count == 2)
            }
        }
    }

    @Test(arguments: [
        (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (403, "Forbidden"), (410, "ExpiredToken"),
        (410, "Unregistered"), (413, "PayloadTooLarge"), (400, "TopicDisallowed"), (403, "InvalidProviderToken"),
    ])
    func `Is never sent again`(_ status: Int, _ reason: String) async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: status, reason: reason) }) { server in
            try await server.withClient { client in
                let errors = try await client.errors(sending: 1)
                #expect(errors.map(\.rejection?.reason.rawValue) == [reason])
                #expect(errors.map(\.rejection?.status) == [status])
                #expect(server.log.requests.count == 1)
            }
        }
    }

    @Test func `The last refusal is told when the deadline comes`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream)
                : connection.answer(request.stream, status: 429, reason: "TooManyRequests")
        }) { server in
            try await server.withClient { client in
                // Open the connection before, because on a busy machine that may take longer than the deadline.
                try await client.accepts(1)
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let error = await failure { () throws(ProviderError) in
                    try await client.send(notification, to: token, deadline: .seconds(8))
                }
                #expect(error?.rejection?.reason == .tooManyRequests)
            }
        }
    }

    @Test func `A raw request is sent once and its answer told as it is`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 503, reason: "ServiceUnavailable") }) {
            server in
            try await server.withClient { client in
                let request = PushRequest(deviceToken: "00", topic: nil, payload: ByteBuffer(string: "{}"))
                let answer = try await client.send(request)
                #expect(answer.status == 503)
                #expect(answer.reason == "ServiceUnavailable")
                #expect(server.log.requests.count == 1)
            }
        }
    }

    @Test(arguments: [
        PushRequest(deviceToken: "0 0", topic: "a", payload: ByteBuffer()),
        PushRequest(deviceToken: "00", topic: "a\nb", payload: ByteBuffer()),
        PushRequest(deviceToken: "00", topic: " a", payload: ByteBuffer()),
        PushRequest(deviceToken: "00", topic: "a", payload: ByteBuffer(), collapseID: "a\u{0}"),
    ])
    func `A value that no header can hold is refused here`(_ request: PushRequest) async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                let error = await failure { () throws(ProviderError) in try await client.send(request) }
                #expect(error?.code == .badNotification)
                #expect(server.log.connections == 0)
            }
        }
    }
}

extension ProviderClient {
    /// Whether the client has a connection that takes no requests because nothing arrives on it.
    fileprivate func isSuspect() async throws -> Bool {
        let (answers, tell) = AsyncStream<Bool>.makeStream()
        try await core.run { dispatcher, promise in
            tell.yield(dispatcher.plan.connections.contains { $0.replaceFrom != nil })
            promise.succeed()
        }
        return await answers.first { _ in true } ?? false
    }
}

extension NIOLoopBound where Value: AnyObject {
    /// Runs something with the value on its event loop.
    func execute(_ body: @escaping @Sendable (Value) -> Void) {
        eventLoop.execute { body(self.value) }
    }
}
