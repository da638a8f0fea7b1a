import Foundation
import Logging
import Notifications
import Management
import Service
import Testing

@testable import ServiceTesting

/// Which files a start changes, and which it does not touch.
@Suite(.timeLimit(.minutes(2)))
struct StartTests {
    /// Calls `body` with an empty folder, and with settings that name a data folder in it.
    private func withFolder(_ body: (URL, Settings) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var settings = Settings()
        settings.dataFolder = folder.appendingPathComponent("data").path
        settings.ports = .ephemeral
        settings.eventLoops = 1
        settings.environments = [.development]
        try await body(folder, settings)
    }

    /// Starts a service and ends it. Returns the description of the running service.
    private func start(_ settings: Settings) async throws -> ServiceDescription {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let service = try await CarillonService.start(settings, logger: logger)
        let serving = Task { await service.run() }
        serving.cancel()
        await serving.value
        return service.description
    }

    @Test func `A folder in place of the socket is not touched`() async throws {
        try await withFolder { folder, settings in
            var settings = settings
            let victim = folder.appendingPathComponent("victim")
            try FileManager.default.createDirectory(at: victim, withIntermediateDirectories: true)
            try Data("precious".utf8).write(to: victim.appendingPathComponent("file"))
            settings.socketPath = victim.path
            await #expect(throws: ServiceError.self) { _ = try await start(settings) }
            let kept = try Data(contentsOf: victim.appendingPathComponent("file"))
            #expect(kept == Data("precious".utf8))
        }
    }

    @Test func `A socket of another running service is not touched`() async throws {
        try await TestService.run { test in
            try await withFolder { _, settings in
                var settings = settings
                settings.socketPath = test.description.socket
                await #expect(throws: ServiceError.self) { _ = try await start(settings) }
                #expect(FileManager.default.fileExists(atPath: test.description.socket))
            }
        }
    }

    @Test(arguments: ["authority.json", "token-key-1"])
    func `If a secret was lost the start fails, and no new one is made`(name: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lost-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let change: (inout Settings) -> Void = { $0.dataFolder = folder }
        try await TestService.run(change) { _ in }
        try FileManager.default.removeItem(atPath: "\(folder)/secrets/\(name)")
        let error = await #expect(throws: ServiceError.self) { try await TestService.run(change) { _ in } }
        #expect(error?.description.contains(name) == true)
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/secrets/\(name)"))
    }

    @Test func `A foreign folder with a file named lock is not touched`() async throws {
        try await withFolder { _, settings in
            let data = URL(fileURLWithPath: settings.folder.path)
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            for name in ["lock", "payroll.db"] { try Data().write(to: data.appendingPathComponent(name)) }
            await #expect(throws: ServiceError.self) { _ = try await start(settings) }
            let names = try FileManager.default.contentsOfDirectory(atPath: data.path)
            #expect(names.sorted() == ["lock", "payroll.db"])
        }
    }

    /// A file system has this folder in its topmost one, and `fsck` needs it.
    @Test func `An empty disk can be the data folder`() async throws {
        try await withFolder { _, settings in
            let data = URL(fileURLWithPath: settings.folder.path)
            let found = data.appendingPathComponent("lost+found")
            try FileManager.default.createDirectory(at: found, withIntermediateDirectories: true)
            _ = try await start(settings)
            _ = try await start(settings)
            #expect(FileManager.default.fileExists(atPath: found.path))
        }
    }

    @Test func `An environment that is named twice is served once`() async throws {
        try await withFolder { _, settings in
            var settings = settings
            settings.environments = [.development, .development]
            let description = try await start(settings)
            #expect(description.development != nil)
        }
    }

    @Test func `After a restart the development team, its key and its app are the same`() async throws {
        try await withFolder { _, settings in
            let first = try await start(settings)
            #expect(first.key?.bundleID == "com.example.app")
            let second = try await start(settings)
            #expect(second.key == first.key)
        }
    }

    @Test func `After a restart the other authority of rehearsals is the same`() async throws {
        try await TestService.runTwice { test in
            let answer = try await test.ask("GET", "/other-ca.pem")
            #expect(answer.status == 200)
            return answer.text
        } _: { test, before in
            let after = try await test.ask("GET", "/other-ca.pem")
            #expect(after.text == before)
        }
    }

    @Test func `A folder that others could use is made private`() async throws {
        try await withFolder { _, settings in
            try FileManager.default.createDirectory(
                atPath: settings.folder.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            _ = try await start(settings)
            let attributes = try FileManager.default.attributesOfItem(atPath: settings.folder.path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test func `A deleted team is not made again at the next start`() async throws {
        try await TestService.runTwice { test in
            let team = try required(test.description.key).teamID
            let _: ManagementMessages.Team = try await test.administer("DELETE", "/v1/teams/\(team)")
        } _: { test, _ in
            let teams: [ManagementMessages.Team] = try await test.administer("GET", "/v1/teams")
            #expect(teams.isEmpty && test.description.key == nil)
        }
    }

    @Test func `A store in memory with a permanent folder uses the key file that is there`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var keys: [String] = []
        for _ in 0..<2 {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.store = .memory
            } _: { test in
                keys.append(try required(test.description.key).keyID)
            }
        }
        #expect(keys.count == 2 && keys[0] == keys[1])
    }
}
