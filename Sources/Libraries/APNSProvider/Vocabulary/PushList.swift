/// An asynchronous sequence over an array of notifications.
public struct PushList: AsyncSequence, Sendable {
    private let pushes: [Push]

    /// Creates a sequence.
    /// - Parameter pushes: the notifications, in the order in which the sequence yields them.
    public init(_ pushes: [Push]) { self.pushes = pushes }

    /// The iterator of a ``PushList``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<Push>

        /// Returns the next notification, or nil after the last one.
        public mutating func next() async -> Push? { rest.popFirst() }
    }

    /// Makes an iterator that begins with the first notification.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pushes[...]) }
}
