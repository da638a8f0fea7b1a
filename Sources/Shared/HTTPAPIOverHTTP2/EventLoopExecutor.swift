package import NIOCore

/// Runs tasks on an event loop. A task that answers a request there needs no other thread: its answer goes to the connection
/// without a hop.
package final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    /// - Parameter eventLoop: must not end before the tasks.
    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
