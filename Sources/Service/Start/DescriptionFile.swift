import Foundation
import Logging
import Synchronization

/// The file by which commands find the running service.
///
/// A disk without room for it does not stop the start: providers and devices are served nevertheless, and the file is
/// written as soon as there is room.
final class DescriptionFile: Sendable {
    /// How often it is tried again.
    private static let interval = Duration.seconds(1)

    private enum Phase {
        case missing
        case written
        /// The service ends.
        case removed
    }

    private let description: ServiceDescription
    private let folder: DataFolder
    private let logger: Logger
    private let phase = Mutex(Phase.missing)

    /// Tries to write the file.
    init(_ description: ServiceDescription, in folder: DataFolder, _ logger: Logger) {
        self.description = description
        self.folder = folder
        self.logger = logger
        do throws(ServiceError) {
            try write()
        } catch {
            logger.error(
                "Commands cannot find the service until a file can be written",
                metadata: ["path": "\(folder.descriptionFile)", "cause": "\(error.cause)"])
        }
    }

    private func write() throws(ServiceError) {
        try phase.withLock { phase throws(ServiceError) in
            guard phase == .missing else { return }
            try description.write(to: folder)
            phase = .written
        }
    }

    /// Tries again until the file is there, or the task is cancelled.
    func run() async {
        while phase.withLock({ $0 == .missing }), !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
                try write()
                logger.notice("Commands can find the service again")
            } catch {
                // It was logged once, and the next attempt follows.
            }
        }
    }

    /// Removes the file: nothing is to be found from now on.
    func remove() {
        phase.withLock { phase in
            phase = .removed
            try? FileManager.default.removeItem(atPath: folder.descriptionFile)
        }
    }
}
