/// Finds the first elements in order of many that come in any order, without sorting all of them: a page of a list.
package struct FirstInOrder<Element: Comparable & Sendable>: Sendable {
    private let limit: Int
    /// The smallest elements so far: at most twice as many as are wanted.
    private var kept: [Element] = []
    /// An element that is known to come after enough others: elements greater than this one are not wanted.
    private var bound: Element?

    /// - Parameter limit: how many elements are wanted.
    package init(_ limit: Int) { self.limit = max(0, limit) }

    package mutating func insert(_ element: Element) {
        if let bound, element >= bound { return }
        kept.append(element)
        if kept.count >= 2 * limit { shorten() }
    }

    /// The elements, in order.
    package var elements: [Element] { Array(kept.sorted().prefix(limit)) }

    private mutating func shorten() {
        kept = elements
        bound = kept.last
    }
}
