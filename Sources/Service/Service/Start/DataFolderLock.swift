import PrivateFiles
import Storage

/// Locks a data folder for one service. The system unlocks it when the process ends, even after a crash.
final class DataFolderLock: Sendable {
    private let lock: FolderLock

    init(_ folder: DataFolder) throws(ServiceError) {
        let lock: FolderLock?
        do throws(StoreError) {
            lock = try FolderLock.acquire(folder.lockFile)
        } catch {
            throw ServiceError(.dataFolder, error.cause)
        }
        guard let lock else {
            throw ServiceError(
                .alreadyRunning,
                "A service already runs on \(folder.path); stop it, or name another folder with --data.")
        }
        self.lock = lock
    }
}
