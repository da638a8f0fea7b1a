import CommonTesting
import Foundation
import PrivateFiles
import Storage
import Testing

@Suite(.timeLimit(.minutes(2))) struct FolderLockTests {
    /// Runs `body` with the path of a lock in a new folder.
    private static func withLockFile(_ body: (_ file: String) async throws -> Void) async throws {
        try await withTemporaryPath { folder in
            try Files.makeFolder(folder)
            try await body(folder + "/x.lock")
        }
    }

    @Test func `One process at a time holds the lock, and others see that`() async throws {
        try await Self.withLockFile { file in
            #expect(!FolderLock.isHeld(file))
            let lock = try FolderLock.acquire(file)
            #expect(lock != nil)
            #expect(FolderLock.isHeld(file))
            #expect(try FolderLock.acquire(file) == nil)
            // Looking and failing have not released it.
            #expect(FolderLock.isHeld(file))
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `The end of the lock frees the folder`() async throws {
        try await Self.withLockFile { file in
            do { _ = try FolderLock.acquire(file) }
            #expect(!FolderLock.isHeld(file))
            #expect(try FolderLock.acquire(file) != nil)
        }
    }

    /// A child process has a copy until it becomes another program, which takes long on a busy machine.
    @Test func `The end of the lock frees the folder although a copy of its descriptor is open`() async throws {
        try await Self.withLockFile { file in
            var copy: Int32 = -1
            do {
                let lock = try FolderLock.acquire(file)
                let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                let own = descriptors.first {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == file
                }
                copy = dup(try #require(own.flatMap { Int32($0) }))
                withExtendedLifetime(lock) {}
            }
            defer { close(copy) }
            #expect(copy >= 0)
            #expect(!FolderLock.isHeld(file))
            #expect(try FolderLock.acquire(file) != nil)
        }
    }

    /// A command looks whether a server is starting, while the server takes its lock.
    @Test func `A process that only looks keeps nobody from taking the lock`() async throws {
        try await Self.withLockFile { file in
            let looking = try Files.open(file, O_RDWR | O_CREAT)
            try #require(flock(looking.number, LOCK_SH | LOCK_NB) == 0)
            // A thread, because taking the lock blocks until the other process has looked.
            let taken = AsyncStream<Bool>.makeStream()
            Thread.detachNewThread { taken.continuation.yield((try? FolderLock.acquire(file)) != nil) }
            flock(looking.number, LOCK_UN)
            var results = taken.stream.makeAsyncIterator()
            #expect(await results.next() == true)
        }
    }
}
