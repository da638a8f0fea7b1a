import Synchronization

/// A flag that says that a call was cancelled. All requests of a call share one. Any task can set it; the event loop
/// reads it when it is woken.
final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    var isCancelled: Bool { flag.load(ordering: .acquiring) }

    func cancel() { flag.store(true, ordering: .releasing) }
}
