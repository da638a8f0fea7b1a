import Foundation
import NIOCore
import ProviderTesting
import Synchronization
import Testing

@testable import APNSProvider

/// All connections and processes use one provider token. It is renewed in time, and at once if the service calls it
/// expired (Guide, 2.3.1 and 2.3.3.1).
@Suite(.timeLimit(.minutes(2))) struct ProviderTokenTests {
    @Test func `All requests on all connections carry one token`() async throws {
        var options = ScriptedServer.Options()
        options.streams = 2
        try await ScriptedServer.run(
            options,
            script: { request, connection in
                connection.afterRoundTrip { connection.answer(request.stream) }
            }
        ) { server in
            try await server.withClient { client in
                try await client.accepts(50)
                #expect(Set(server.log.requests.map(\.token)).count == 1)
            }
        }
    }

    @Test func `Two clients with one store send one token`() async throws {
        let credentials = try TestAuthority.credentials()
        let store = InMemoryProviderTokenStore()
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            for _ in 0..<2 {
                try await server.withClient(credentials: credentials, { $0.tokenStore = store }) { client in
                    try await client.accepts(1)
                }
            }
            #expect(Set(server.log.requests.map(\.token)).count == 1)
        }
    }

    @Test func `An expired token is renewed at once and once`() async throws {
        let clock = Mutex<UInt64>(1_000_000)
        let first = Mutex<String?>(nil)
        try await ScriptedServer.run(script: { request, connection in
            let isFirst = first.withLock { first in
                if first == nil { first = request.token }
                return first == request.token
            }
            guard isFirst, request.number > 0 else { return connection.answer(request.stream) }
            clock.withLock { $0 += 1 }
            connection.answer(request.stream, status: 403, reason: "ExpiredProviderToken")
        }) { server in
            var internals = ProviderClient.Internals()
            internals.clock = { clock.withLock { $0 } }
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                try await client.accepts(30)
                #expect(Set(server.log.requests.map(\.token)).count == 2)
            }
        }
    }

    @Test func `A clock that is wrong does not make a token for each request`() async throws {
        let clock = Mutex<UInt64>(1_000_000)
        try await ScriptedServer.run(script: { request, connection in
            clock.withLock { $0 += 1 }
            connection.answer(request.stream, status: 403, reason: "ExpiredProviderToken")
        }) { server in
            var internals = ProviderClient.Internals()
            internals.clock = { clock.withLock { $0 } }
            try await server.withClient(internals: internals) { client in
                let errors = try await client.errors(sending: 10)
                #expect(errors.count == 10)
                #expect(errors.allSatisfy { $0.rejection?.reason == .expiredProviderToken })
                #expect(Set(server.log.requests.map(\.token)).count == 2)
            }
        }
    }

    @Test func `Is renewed in time while requests go on`() async throws {
        let clock = Mutex<UInt64>(1_000_000)
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            var internals = ProviderClient.Internals()
            internals.clock = { clock.withLock { $0 } }
            try await server.withClient(internals: internals) { client in
                try await client.accepts(1)
                clock.withLock { $0 += ProviderTokenSchedule.life }
                try await client.accepts(1)
                #expect(Set(server.log.requests.map(\.token)).count == 2)
            }
        }
    }

    @Test func `Connections with the old key are closed before the new one is used`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                try await client.accepts(1)
                try await client.replaceCredentials(with: try TestAuthority.credentials())
                try await client.accepts(1)
                await server.log.closed(1)
                let tokens = server.log.requests.map(\.token)
                try #require(tokens.count == 2)
                #expect(Set(tokens).count == 2)
                let events = server.log.events
                #expect(
                    Array(events.prefix(5)) == [
                        .opened(0), .request(0, token: tokens[0]), .closed(0), .opened(1),
                        .request(1, token: tokens[1]),
                    ])
            }
        }
    }

    @Test func `What is under way is answered before the key is replaced`() async throws {
        let (held, hold) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        try await ScriptedServer.run(script: { request, connection in
            guard request.number == 0 else { return connection.answer(request.stream) }
            let bound = NIOLoopBound(connection, eventLoop: connection.channel.eventLoop)
            hold.yield { bound.execute { $0.answer(request.stream) } }
        }) { server in
            try await server.withClient { client in
                async let errors = client.errors(sending: 1)
                var answers = held.makeAsyncIterator()
                let answer = try #require(await answers.next())
                async let replaced: Void = client.replaceCredentials(with: try TestAuthority.credentials())
                answer()
                let answered = try await errors
                #expect(answered.isEmpty)
                try await replaced
                try await client.accepts(1)
                #expect(server.log.connections == 2)
            }
        }
    }

    @Test func `A store that fails is told`() async throws {
        struct BrokenStore: ProviderTokenStore {
            func update(
                _ key: String, _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken
            ) async throws -> StoredProviderToken { throw ProviderTestError() }
        }
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient({ $0.tokenStore = BrokenStore() }) { client in
                let errors = try await client.errors(sending: 1)
                #expect(errors.map(\.code) == [.badCredentials])
            }
        }
    }

    // MARK: The file

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    @Test func `A file is shared and readable by its owner alone`() async throws {
        try await withFolder { folder in
            let token = StoredProviderToken(token: "a.b.c", issuedAt: 1)
            _ = try await FileProviderTokenStore(folder: folder).update("KEY") { _ in token }
            let found = try await FileProviderTokenStore(folder: folder).update("KEY") { stored in
                stored ?? StoredProviderToken(token: "other", issuedAt: 2)
            }
            #expect(found == token)
            let mode = try FileManager.default.attributesOfItem(atPath: folder + "/KEY.json")[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func `A damaged file is made anew`() async throws {
        try await withFolder { folder in
            let store = FileProviderTokenStore(folder: folder)
            _ = try await store.update("KEY") { _ in StoredProviderToken(token: "a.b.c", issuedAt: 1) }
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/KEY.json"))
            let seen = try await store.update("KEY") { stored in
                stored ?? StoredProviderToken(token: "new", issuedAt: 2)
            }
            #expect(seen.token == "new")
        }
    }

    /// In a process of its own, because the limit on the size of files is that of the process.
    @Test func `A file that cannot be written completely is an error that says why`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 100, rlim_max: 100)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            try await ProviderTokenTests().withFolder { folder in
                let long = StoredProviderToken(token: String(repeating: "a", count: 200), issuedAt: 1)
                let error = await #expect(throws: (any Error).self) {
                    try await FileProviderTokenStore(folder: folder).update("KEY") { _ in long }
                }
                #expect(error.map { "\($0)" }?.hasSuffix(String(cString: strerror(EFBIG))) == true)
            }
        }
    }

    /// Two stores that use one folder behave like two processes.
    @Test func `Two processes renew together between twenty and sixty minutes`() async throws {
        let credentials = try TestAuthority.credentials()
        let start: UInt64 = 1_000_000
        let clock = Mutex(start)
        try await withFolder { folder in
            let keepers = (0..<2).compactMap { _ in
                ProviderTokenKeeper(credentials, store: FileProviderTokenStore(folder: folder)) {
                    clock.withLock { $0 }
                }
            }
            func tokens(afterMinutes minutes: UInt64) async throws -> Set<String> {
                clock.withLock { $0 = start + minutes * 60 }
                var tokens: Set<String> = []
                for keeper in keepers { tokens.insert(try #require(try await keeper.token(insteadOf: nil)).token) }
                return tokens
            }
            let first = try await tokens(afterMinutes: 0)
            #expect(keepers.count == 2)
            #expect(first.count == 1)
            #expect(try await tokens(afterMinutes: 20) == first)
            #expect(try await tokens(afterMinutes: 39) == first)
            let second = try await tokens(afterMinutes: 59)
            #expect(second.count == 1)
            #expect(second != first)
            #expect(try await tokens(afterMinutes: 79) == second)
        }
    }

    @Test func `A process that waited for the store uses the token that was made meanwhile`() async throws {
        let clock = SharedClock()
        let store = BusyStore(clock: clock)
        let keeper = try #require(
            ProviderTokenKeeper(try TestAuthority.credentials(), store: store) { clock.now })
        #expect(try await keeper.token(insteadOf: nil)?.token == "another's")
    }

    /// A store in which another process makes a token one second after this one has asked for it.
    private struct BusyStore: ProviderTokenStore {
        let clock: SharedClock

        func update(
            _ key: String,
            _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
        ) async throws -> StoredProviderToken {
            let later = clock.advance()
            return try change(StoredProviderToken(token: "another's", issuedAt: later))
        }
    }

    private final class SharedClock: Sendable {
        private let seconds = Mutex<UInt64>(1_000_000)

        var now: UInt64 { seconds.withLock { $0 } }

        func advance() -> UInt64 {
            seconds.withLock {
                $0 += 1
                return $0
            }
        }
    }

    @Test func `Many who ask at once get one token`() async throws {
        try await withFolder { folder in
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await FileProviderTokenStore(folder: folder).update("KEY") { stored in
                            stored ?? StoredProviderToken(token: "\(number)", issuedAt: 1)
                        }.token
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
        }
    }

    @Test func `A key of the same name is another`() throws {
        let store = InMemoryProviderTokenStore()
        let keepers = try (0..<2).compactMap { _ in
            ProviderTokenKeeper(try TestAuthority.credentials(), store: store) { 1_000_000 }
        }
        #expect(keepers.count == 2)
        #expect(Set(keepers.map(\.name)).count == 2)
    }
}
