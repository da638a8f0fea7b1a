package import NIOCore
import NIOPosix

/// Work that an event loop does directly after it has handled the batch of one connection.
///
/// An event loop runs its tasks after it has read all readable connections. So a push would wait for the reads of all
/// other providers and devices, although the bytes for its device are known. This type writes them at once.
package enum AfterBatch {
    /// The work of one thread. `@unchecked`, because no other thread sees it, which the compiler cannot know.
    private final class Following: @unchecked Sendable {
        var isGathering = false
        var work: [Work] = []
    }

    /// A struct, because Swift would wrap a closure that is an array's element in another closure.
    private struct Work {
        let perform: @Sendable () -> Void
    }

    private static let followings = ThreadSpecificVariable<Following>()

    /// Passes on a batch, and then does the work that was added by ``perform(on:_:)`` meanwhile. Call it on an event
    /// loop. A batch within a batch is part of the outer one.
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
        // The capacity is kept, because nearly every batch has work.
        work.removeAll(keepingCapacity: true)
        if following.work.isEmpty { swap(&work, &following.work) }
    }

    /// Does work on an event loop. If the caller is inside a batch there, the work follows that batch; otherwise it is
    /// one of the loop's next tasks.
    package static func perform(on eventLoop: any EventLoop, _ work: @escaping @Sendable () -> Void) {
        guard eventLoop.inEventLoop, let following = followings.currentValue, following.isGathering else {
            return eventLoop.execute(work)
        }
        following.work.append(Work(perform: work))
    }
}
