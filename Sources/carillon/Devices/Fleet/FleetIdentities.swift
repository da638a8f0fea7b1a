import APNSDevice
import Foundation
import Notifications
import Service
import Synchronization

/// The identities of simulated devices. Many are made at the same time. They are kept in a file of the data folder
/// and used again.
struct FleetIdentities {
    /// How many activations run at the same time. A connection has 100 streams.
    private static let underWay = 90
    /// How many identities are made before they are written to the file. If the command is stopped, at most this many
    /// are lost.
    private static let batch = 1000

    private let environment: Environment
    private let path: String
    private let folder: String

    init(folder: DataFolder, environment: Environment) {
        self.environment = environment
        self.folder = folder.path + "/fleet"
        path = self.folder + "/\(environment.rawValue).pem"
    }

    /// Returns the requested number of identities: first those in the file, then new ones.
    /// - Throws: if another fleet holds the file.
    func load(_ count: Int, at courier: CourierAddress, isQuiet: Bool) async throws -> FleetRoster {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var roster = FleetRoster(file: try FleetFile(path: path))
        roster.places = try placesToKeep(count, in: roster.file)
        guard roster.count < count else { return roster }
        let progress = ProgressBar(isQuiet: isQuiet)
        let activator = try Activator(at: courier, environment: environment)
        do {
            while roster.count < count {
                let (done, wanted) = (roster.count, min(Self.batch, count - roster.count))
                let made = try await make(wanted, with: activator) {
                    progress.show("Making devices", done + $0, of: count)
                }
                roster.places += try roster.file.append(made)
            }
        } catch {
            progress.end()
            await activator.close()
            throw error
        }
        progress.end()
        await activator.close()
        return roster
    }

    /// The byte ranges of the first identities in the file that do not need renewal.
    private func placesToKeep(_ count: Int, in file: FleetFile) throws -> [Range<Int>] {
        let now = Date()
        var places: [Range<Int>] = []
        for place in try file.places() where places.count < count {
            // The last identity may have been cut off.
            guard let renewal = try file.identity(at: place)?.renewalDate, renewal > now else { continue }
            places.append(place)
        }
        return places
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

    /// Activates a device.
    private func activate(with activator: Activator) async throws -> DeviceIdentity {
        var retries = ActivationRetries()
        while true {
            do {
                return try await activator.activate()
            } catch {
                guard retries.allowsAnother(after: error, at: .now) else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
