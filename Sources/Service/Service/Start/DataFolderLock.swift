import Foundation

/// Locks a data folder for one service. The system unlocks it when the process ends, even after a crash.
final class DataFolderLock: Sendable {
    private let descriptor: Int32

    init(_ folder: DataFolder) throws(ServiceError) {
        let descriptor = open(folder.lockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ServiceError(.dataFolder, "\(folder.lockFile) cannot be opened: \(reason).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw ServiceError(
                .alreadyRunning,
                "A service already runs on \(folder.path); stop it, or name another folder with --data.")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
