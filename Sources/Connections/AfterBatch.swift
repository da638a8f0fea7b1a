package import NIOCore
import NIOPosix

/// What an event loop does as soon as the batch of one connection has been handed on.
///
/// An event loop runs its tasks when it has read all connections that had something to read. A push would so wait for the
/// reads of all other providers and devices before its device gets it, though what has to be written is known: here it is
/// written at once.
package enum AfterBatch {
    /// What one thread has to do. `@unchecked`, because no other thread sees it, which the compiler cannot know.
    private final class Following: @unchecked Sendable {
        var isGathering = false
        var work: [Work] = []
    }

    /// A closure that stands in an array by itself would be wrapped in another one.
    private struct Work {
        let perform: @Sendable () -> Void
    }

    private static let followings = ThreadSpecificVariable<Following>()

    /// Hands on a batch, and does what it has given to ``perform(on:_:)`` when it returns. On an event loop; a batch within
    /// a batch is a part of it.
    package static func handOn(_ batch: () -> Void) {
        let following = followings.currentValue ?? Following()
        if followings.currentValue == nil { followings.currentValue = following }
        guard !following.isGathering else { return batch() }
        following.isGathering = true
        batch()
        following.isGathering = false
        var work: [Work] = []
        swap(&work, &following.work)
        for work in work { work.perform() }
        // The room is kept: there is something to do after nearly every batch.
        work.removeAll(keepingCapacity: true)
        if following.work.isEmpty { swap(&work, &following.work) }
    }

    /// Does something on an event loop: right after the batch that is being handed on there, where the caller is part of
    /// that, and otherwise with the loop's next tasks.
    package static func perform(on eventLoop: any EventLoop, _ work: @escaping @Sendable () -> Void) {
        guard eventLoop.inEventLoop, let following = followings.currentValue, following.isGathering else {
            return eventLoop.execute(work)
        }
        following.work.append(Work(perform: work))
    }
}
