import Dispatch
import Foundation
import Synchronization

/// Runs the tasks that answer the requests of one API, on one thread that gives way to all others.
///
/// Without it, they would run on the threads of all tasks, of which there is one for each core, and so does the work that
/// stores notifications. A flood of requests without a key made a push take 30 times as long.
package final class BackgroundExecutor: TaskExecutor {
    /// How nice the thread is to others (setpriority(2)): it gets a third of what they get when all cores are busy.
    private static let niceness: Int32 = 5

    private struct State {
        /// The oldest first. There are at most a few for each connection.
        var jobs: [UnownedJob] = []
        var isEnding = false
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Parameter name: the thread's.
    package init(name: String) {
        let thread = Thread { self.run() }
        thread.name = name
        thread.start()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isRunning = state.withLock { state in
            if !state.isEnding { state.jobs.append(job) }
            return !state.isEnding
        }
        if isRunning {
            wake.signal()
        } else {
            // Nothing should come after the end. If it does, it must not be lost.
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// Ends the thread when it has done what waits.
    package func end() {
        state.withLock { $0.isEnding = true }
        wake.signal()
    }

    private func run() {
        Self.giveWay()
        while true {
            let (job, isOver) = state.withLock { ($0.jobs.isEmpty ? nil : $0.jobs.removeFirst(), $0.isEnding) }
            if let job {
                job.runSynchronously(on: asUnownedTaskExecutor())
            } else if isOver {
                return
            } else {
                wake.wait()
            }
        }
    }

    /// Lets other threads come first. If the system refuses this, only the share of the processor differs.
    package static func giveWay() {
        #if os(Linux)
            // On Linux this sets the priority of the calling thread alone.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }
}
