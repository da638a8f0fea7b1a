import HeapModule
import Notifications

/// A queue of expirations, the earliest first.
///
/// If an item is removed or replaced elsewhere, its entry here becomes stale. A stale entry stays until its time
/// comes, or until more than half of all entries are stale. Then ``isMostlyStale(live:)`` returns true, and the
/// caller builds a new queue. So the queue is never much longer than the number of live entries.
struct ExpiryQueue<Element: Sendable>: Sendable {
    private struct Entry: Comparable, Sendable {
        let moment: Timestamp
        let element: Element

        static func < (lhs: Entry, rhs: Entry) -> Bool { lhs.moment < rhs.moment }
        static func == (lhs: Entry, rhs: Entry) -> Bool { lhs.moment == rhs.moment }
    }

    private var heap = Heap<Entry>()

    /// The number of stale entries that are allowed even if there are few live ones.
    static var toleratedStale: Int { 1024 }

    init() {}

    init(_ elements: some Sequence<(moment: Timestamp, element: Element)>) {
        heap = Heap(elements.map { Entry(moment: $0.moment, element: $0.element) })
    }

    var count: Int { heap.count }

    mutating func insert(_ element: Element, expires moment: Timestamp) {
        heap.insert(Entry(moment: moment, element: element))
    }

    /// Removes and returns the first entry, if it expired before the given time.
    mutating func popFirst(before moment: Timestamp) -> Element? {
        guard let first = heap.min, first.moment < moment else { return nil }
        return heap.removeMin().element
    }

    func isMostlyStale(live: Int) -> Bool { heap.count > 2 * live + Self.toleratedStale }
}
