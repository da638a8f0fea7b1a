import Synchronization

/// Whether somebody still wants the answers: one for a call, however many requests it makes. Set from any task; the
/// event loop looks at it when it is told to.
final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    var isCancelled: Bool { flag.load(ordering: .acquiring) }

    func cancel() { flag.store(true, ordering: .releasing) }
}
