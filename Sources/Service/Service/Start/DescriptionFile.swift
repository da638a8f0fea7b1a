import Foundation
import Logging
import Synchronization

/// Writes the file with which commands find the running service.
///
/// A full disk does not prevent the start: the service works without the file, and writes it as soon as the disk has
/// room.
final class DescriptionFile: Sendable {
    /// How often writing is tried again.
    private static let interval = Duration.seconds(1)

    private enum Phase {
        case missing
        case written
        /// The service is ending, and the file was removed.
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

    /// Tries again until the file is written or the task is cancelled.
    func run() async {
        while phase.withLock({ $0 == .missing }), !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
                try write()
                logger.notice("Commands can find the service again")
            } catch {
                // The failure was logged when it happened first. Try again after the interval.
            }
        }
    }

    /// Removes the file, so that commands no longer find the service.
    func remove() {
        phase.withLock { phase in
            phase = .removed
            folder.removeDescription()
        }
    }
}
