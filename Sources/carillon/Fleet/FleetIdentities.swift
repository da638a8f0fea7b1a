import APNSDevice
import Foundation
import Notifications
import Service
import Synchronization

/// The identities of simulated devices: made in bulk, kept in one file of the data folder, and used again.
struct FleetIdentities {
    /// How many activations are under way at a time: a connection has 100 streams.
    private static let underWay = 90
    /// How many are made before they are kept: what is lost when the command is stopped meanwhile.
    private static let batch = 1000

    private let environment: Environment
    private let path: String
    private let folder: String

    init(folder: DataFolder, environment: Environment) {
        self.environment = environment
        self.folder = folder.path + "/fleet"
        path = self.folder + "/\(environment.rawValue).pem"
    }

    /// As many identities as asked for: those that are kept, and new ones for the rest.
    func load(_ count: Int, at courier: CourierAddress, isQuiet: Bool) async throws -> [DeviceIdentity] {
        var identities = read(count)
        guard identities.count < count else { return identities }
        let progress = ProgressBar("Making devices", count: count, isQuiet: isQuiet)
        progress.show(identities.count)
        let activator = try Activator(at: courier, environment: .init(environment))
        do {
            while identities.count < count {
                let (done, wanted) = (identities.count, min(Self.batch, count - identities.count))
                let made = try await make(wanted, with: activator) { progress.show(done + $0) }
                try append(made)
                identities += made
            }
        } catch {
            progress.end()
            await activator.close()
            throw error
        }
        progress.end()
        await activator.close()
        return identities
    }

    /// Those that are kept and not near their end, the first ones.
    private func read(_ count: Int) -> [DeviceIdentity] {
        // Where there is no file, there are none.
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        let title = "Carillon device identity\n"
        let now = Date()
        let texts = String(decoding: data, as: UTF8.self).components(separatedBy: title).dropFirst()
        // The last one may have been cut off.
        return Array(
            texts.lazy.compactMap { DeviceIdentity(text: title + $0) }
                .filter { ($0.renewalDate ?? .distantPast) > now }
                .prefix(count))
    }

    private func append(_ identities: [DeviceIdentity]) throws {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let isThere =
            manager.fileExists(atPath: path)
            || manager.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        guard isThere, let file = FileHandle(forWritingAtPath: path) else {
            throw CommandError("\(path) cannot be written.")
        }
        defer { try? file.close() }  // Everything is written by then.
        try file.seekToEnd()
        // Begins on a new line after a text that was cut off.
        try file.write(contentsOf: Data(("\n" + identities.map(\.text).joined(separator: "\n")).utf8))
    }

    private func make(
        _ count: Int,
        with activator: Activator,
        _ progress: @Sendable @escaping (Int) -> Void,
    ) async throws -> [DeviceIdentity] {
        try await withThrowingTaskGroup(of: DeviceIdentity.self) { group in
            var (begun, made) = (0, [DeviceIdentity]())
            while made.count < count {
                while begun < count, begun - made.count < Self.underWay {
                    group.addTask { try await activate(with: activator) }
                    begun += 1
                }
                guard let identity = try await group.next() else { break }
                made.append(identity)
                progress(made.count)
            }
            return made
        }
    }

    /// The service signs no more than it wants to in a second: then a little later.
    private func activate(with activator: Activator) async throws -> DeviceIdentity {
        while true {
            do {
                return try await activator.activate()
            } catch {
                guard error.code == .unavailable else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
