import CommonTesting
import Foundation
import PrivateFiles
import Synchronization
import Testing

@testable import ServiceTesting
@testable import carillon

/// Commands wait for a server that is starting.
@Suite(.timeLimit(.minutes(2))) struct ServerStartTests {
    /// A wait on a new folder. `beforeLock` and `whileLocked` are as long as no test takes, or no time at all.
    private static func with(
        beforeLock: Duration = .seconds(600),
        whileLocked: Duration = .seconds(600),
        _ body: (ServerStart) async throws -> Void,
    ) async throws {
        try await withTemporaryFolder { folder in
            try await body(
                ServerStart(lockFile: folder + "/lock", beforeLock: beforeLock, whileLocked: whileLocked))
        }
    }

    @Test func `A process that holds the lock is waited for`() async throws {
        try await Self.with(beforeLock: .zero) { start in
            let lock = try FolderLock.acquire(start.lockFile)
            var reads = 0
            let result = start.find {
                reads += 1
                return reads == 5 ? "address" : nil
            }
            #expect(result.description == "address")
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `A process that holds the lock for too long is reported`() async throws {
        try await Self.with(whileLocked: .zero) { start in
            let lock = try FolderLock.acquire(start.lockFile)
            guard case .unready = start.find({ nil as String? }) else {
                Issue.record("The wait did not end.")
                return
            }
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `What a killed server left is no server`() async throws {
        try await Self.with(beforeLock: .zero) { start in
            guard case .absent = start.find({ "address of the killed server" }) else {
                Issue.record("A server without a lock counts as one that runs.")
                return
            }
        }
    }

    @Test func `A server that has not come as far as its lock is waited for`() async throws {
        try await Self.with { start in
            // The command looks for the lock before the server's process takes it.
            let server = Server()
            Thread.detachNewThread { server.lock.withLock { $0 = try? FolderLock.acquire(start.lockFile) } }
            #expect(start.find { "address" }.description == "address")
            withExtendedLifetime(server) {}
        }
    }

    /// Holds the lock that a thread has taken.
    private final class Server: Sendable {
        let lock = Mutex<FolderLock?>(nil)
    }

    @Test func `A command started with a service finds it`() async throws {
        try await withTemporaryFolder { folder in
            let finished = try await ChildProcess.run(
                "sh",
                [
                    "-c",
                    """
                    trap 'kill $!; wait' EXIT
                    "$0" serve --ports ephemeral --data data >serve.log 2>&1 &
                    "$0" app list --data data
                    """, BuiltCommand.path,
                ], folder: folder)
            #expect(finished.status == 0 && finished.output.contains("com.example.app"), "\(finished.errors)")
        }
    }

    @Test func `A folder on which nobody starts a server`() async throws {
        try await withTemporaryFolder { folder in
            let app = try await BuiltCommand.run(["app", "list", "--data", folder])
            #expect(app.status == 1)
            #expect(
                app.errors == "Error: No service runs on \(folder); start one with: carillon serve --data \(folder)\n")
            let provider = try await BuiltCommand.run(["provider", "app", "list", "--data", folder])
            #expect(provider.status == 1)
            #expect(
                provider.errors
                    == "Error: No provider server runs on \(folder); start one with: carillon provider serve "
                    + "--data \(folder)\n")
        }
    }
}

extension ServerStart.Result {
    /// The description of the server that runs; nil if none does.
    fileprivate var description: Description? {
        if case .running(let description) = self { description } else { nil }
    }
}
