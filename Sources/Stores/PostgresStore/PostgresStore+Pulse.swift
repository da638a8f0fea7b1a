import Foundation
import Synchronization

extension PostgresStore {
    package var wasStopped: Bool { pulse.withLock { $0.wasStopped(at: .now) } }

    /// Starts a thread that notes that the process runs. A task would be late if all threads for tasks are busy.
    func startPulse() {
        let seconds = Pulse.interval / .seconds(1)
        let thread = Thread { [weak self] in
            while self?.beat() == true { Thread.sleep(forTimeInterval: seconds) }
        }
        thread.name = "pulse"
        thread.start()
    }

    /// - Returns: Whether the store is still open.
    private func beat() -> Bool {
        pulse.withLock { $0.beat(at: .now) }
        return !isClosed.load(ordering: .relaxed)
    }
}
