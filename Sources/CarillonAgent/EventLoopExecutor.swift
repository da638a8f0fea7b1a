#if os(Linux)
    @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
    import Glibc
    import NIOCore
    import NIOPosix

    /// Runs all tasks of the program on the event loop that serves its connections too: NIO's only shared one. So a notification reaches
    /// an app's stream without passing from thread to thread.
    ///
    /// Swift's own executor on Linux is libdispatch. Its pool of threads has a timer that wakes the machine once a second, as long as the
    /// process lives. docs/decisions/0082-tasks-on-an-event-loop.md.
    final class EventLoopExecutor: MainExecutor, TaskExecutor, SchedulingExecutor {
        private static let shared = EventLoopExecutor(MultiThreadedEventLoopGroup.singleton.next())

        private let eventLoop: any EventLoop

        private init(_ eventLoop: any EventLoop) {
            self.eventLoop = eventLoop
        }

        /// Runs the program on the event loop.
        ///
        /// Nothing may have begun a task or used NIO's shared event loops before: Swift takes its executors once, and NIO the number of loops.
        static func run(_ program: @escaping @Sendable () async -> Never) -> Never {
            NIOSingletons.groupLoopCountSuggestion = 1
            _createExecutors(factory: Factory.self)
            Task { await program() }
            while true { shared.run() }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            eventLoop.execute { self.run(job) }
        }

        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C,
        ) {
            let job = UnownedJob(job)
            // Swift schedules on its own clocks alone, whose durations are these.
            let delay = delay as? Duration ?? .zero
            eventLoop.scheduleTask(in: TimeAmount(delay)) { self.run(job) }
        }

        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C,
        ) {
            enqueue(job, after: clock.now.duration(to: instant), tolerance: tolerance, clock: clock)
        }

        private func run(_ job: UnownedJob) {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }

        func checkIsolated() {
            eventLoop.preconditionInEventLoop()
        }

        /// The loop has its own thread. The main thread has nothing to do but to keep the process.
        func run() { pause() }

        func stop() {}

        private enum Factory: ExecutorFactory {
            static var mainExecutor: any MainExecutor { shared }
            static var defaultExecutor: any TaskExecutor { shared }
        }
    }
#endif
