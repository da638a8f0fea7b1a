import Foundation
import Synchronization

extension PostgresStore {
    package var wasStopped: Bool { stopDetector.withLock { $0.wasStopped(at: .now) } }

    /// Starts a thread that notes that the process runs. A task would be late if all threads for tasks are busy.
    func startStopDetector() {
        let seconds = StopDetector.interval / .seconds(1)
        let thread = Thread { [weak self] in
            while self?.noteRunning() == true { Thread.sleep(forTimeInterval: seconds) }
        }
        thread.name = "stop detector"
        thread.start()
    }

    /// - Returns: Whether the store is still open.
    private func noteRunning() -> Bool {
        stopDetector.withLock { $0.noteRunning(at: .now) }
        return !isClosed.load(ordering: .relaxed)
    }
}
