import CommandSupport
import Foundation
import PrivateFiles

/// Waits for a server that is starting, as in `carillon provider serve & carillon provider app list`.
struct ServerStart {
    /// What became of the wait.
    enum Result<Description> {
        case running(Description)
        /// No process uses the folder.
        case absent
        /// A process has locked the folder and is not ready yet.
        case unready
    }

    /// How long to wait for a process to lock the folder. The server's process was started before the command's, and locks
    /// the folder as soon as it has read its arguments. On a busy machine, the system may nevertheless run the command's
    /// first. Somebody who has forgotten to start the server waits this long for the error.
    static let beforeLock = Duration.seconds(5)
    /// How long to wait while a process has locked the folder. A server with a million installations starts in less than two
    /// seconds; a migration of its database, or a busy machine, makes it longer. A server that ends takes half a minute at
    /// most, and another one may follow.
    static let whileLocked = Duration.seconds(60)
    private static let interval = 0.05

    /// The file that a server locks while it uses the folder.
    let lockFile: String
    var beforeLock = Self.beforeLock
    var whileLocked = Self.whileLocked

    /// Waits until a server runs on the folder.
    /// - Parameter read: reads the file that describes the server; nil if it is missing.
    func find<Description>(_ read: () throws -> Description?) rethrows -> Result<Description> {
        let start = ContinuousClock.now
        while true {
            // Without the lock, the file is of a server that was killed: something else may have its port now.
            let isLocked = FolderLock.isHeld(lockFile)
            if isLocked, let description = try read() { return .running(description) }
            guard ContinuousClock.now < start.advanced(by: isLocked ? whileLocked : beforeLock) else {
                return isLocked ? .unready : .absent
            }
            Thread.sleep(forTimeInterval: Self.interval)
        }
    }

    /// The error for a server that is not ready in time.
    static func unready(_ server: String, _ folder: String) -> CommandError {
        CommandError(
            "\(server) on \(folder) has not become ready in \(whileLocked.components.seconds) seconds. Its log says why."
        )
    }
}
