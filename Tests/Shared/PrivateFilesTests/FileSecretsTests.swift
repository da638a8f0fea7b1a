import CommonTesting
import Foundation
import PrivateFiles
import Storage
import Testing

@Suite("Secrets in files")
struct FileSecretsTests {
    private let name = SecretName(rawValue: "token-keys")

    @Test
    func `Two stores on one folder agree on the first value`() async throws {
        try await withTemporaryPath { path in
            let name = try #require(name)
            let (one, two) = (try FileSecrets(folder: path), try FileSecrets(folder: path))
            let kept = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for value in 0..<20 as Range<UInt8> {
                    group.addTask { try await (value % 2 == 0 ? one : two).keep([value], as: name) }
                }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(kept.count == 1)
        }
    }

    @Test
    func `Secrets that others could read are reported and made private, and nothing else is changed`() async throws {
        try await withTemporaryPath { path in
            let secrets = try FileSecrets(folder: path)
            #expect(secrets.exposed.isEmpty)
            let names = try ["a", "b", "c"].map { try #require(SecretName(rawValue: $0)) }
            for name in names { _ = try await secrets.keep([1], as: name) }
            #expect(try FileSecrets(folder: path).exposed.isEmpty)
            #expect(chmod(path + "/a", 0o644) == 0 && chmod(path + "/b", 0o620) == 0 && chmod(path + "/c", 0o400) == 0)
            #expect(chmod(path, 0o710) == 0)
            #expect(try FileSecrets(folder: path).exposed == [path, path + "/a", path + "/b"])
            #expect(try FileSecrets(folder: path).exposed.isEmpty)
            let modes = try ["", "/a", "/b", "/c"].map {
                try FileManager.default.attributesOfItem(atPath: path + $0)[.posixPermissions] as? Int
            }
            #expect(modes == [0o700, 0o600, 0o600, 0o400])
        }
    }

    #if os(Linux)
        @Test
        func `A private folder is not changed, so that it can be read on a read-only disk`() async throws {
            func changed(_ path: String) -> [Int] {
                var status = stat()
                #expect(stat(path, &status) == 0)
                return [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
            }
            try await withTemporaryPath { path in
                _ = try FileSecrets(folder: path)
                let before = changed(path)
                _ = try FileSecrets(folder: path)
                #expect(changed(path) == before)
                #expect(chmod(path, 0o755) == 0)
                _ = try FileSecrets(folder: path)
                #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
            }
        }
    #endif

    @Test
    func `The folder contains only the secrets`() async throws {
        try await withTemporaryPath { path in
            let name = try #require(name)
            let secrets = try FileSecrets(folder: path)
            _ = try await secrets.keep([1], as: name)
            _ = try await secrets.keep([2], as: name)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["token-keys"])
        }
    }

    @Test
    func `A secret survives a restart`() async throws {
        try await withTemporaryPath { path in
            let name = try #require(name)
            _ = try await FileSecrets(folder: path).keep([1, 2, 3], as: name)
            #expect(try await FileSecrets(folder: path).secret(name) == [1, 2, 3])
        }
    }

    @Test
    func `A file that is too large for a secret is not read, and a secret of this size is not kept`() async throws {
        try await withTemporaryPath { path in
            let name = try #require(name)
            let secrets = try FileSecrets(folder: path)
            let value = [UInt8](repeating: 1, count: FileSecrets.maximumBytes + 1)
            await #expect(throws: StoreError.self) { try await secrets.keep(value, as: name) }
            try Data(value).write(to: URL(fileURLWithPath: path + "/token-keys"))
            await #expect {
                try await secrets.secret(name)
            } throws: { error in
                (error as? StoreError)?.code == .unreadable
            }
        }
    }
}
