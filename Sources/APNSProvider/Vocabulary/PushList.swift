/// Notifications that are all there already, as an asynchronous sequence.
public struct PushList: AsyncSequence, Sendable {
    private let pushes: [Push]

    /// - Parameter pushes: in the order in which they are taken.
    public init(_ pushes: [Push]) { self.pushes = pushes }

    /// Gives one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<Push>

        /// The next; nil after the last.
        public mutating func next() async -> Push? { rest.popFirst() }
    }

    /// Begins with the first.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pushes[...]) }
}
