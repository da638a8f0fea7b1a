package import NIOCore

/// Long work of an event loop, done in slices. Between two slices the event loop reads and writes for its connections.
///
/// SwiftNIO runs all tasks before it looks for readable connections again, and also those that these tasks add with
/// `execute`. Only a task that is scheduled for later lets the event loop look first.
package enum SlicedWork {
    /// The time from the end of a slice to the beginning of the next one. It only has to be longer than SwiftNIO needs to
    /// look for the next task, which is below one microsecond.
    package static let pause = TimeAmount.microseconds(10)

    /// Does the first slice in one of the event loop's next tasks, and another one after each slice that returns true.
    /// - Parameter slice: does some of the work, on the event loop. It returns whether any is left.
    package static func begin(on eventLoop: any EventLoop, _ slice: @escaping @Sendable () -> Bool) {
        eventLoop.execute { perform(on: eventLoop, slice) }
    }

    private static func perform(on eventLoop: any EventLoop, _ slice: @escaping @Sendable () -> Bool) {
        guard slice() else { return }
        eventLoop.scheduleTask(in: pause) { perform(on: eventLoop, slice) }
    }
}
