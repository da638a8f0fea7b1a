import HeapModule
import Notifications

/// What runs out, the first to do so first.
///
/// What was removed or replaced elsewhere stays here until its time has come, or until such entries are the most of
/// all: then ``isMostlyStale(live:)`` says that the queue is to be made anew. So it stays in proportion to what lives.
struct ExpiryQueue<Element: Sendable>: Sendable {
    private struct Entry: Comparable, Sendable {
        let moment: Timestamp
        let element: Element

        static func < (lhs: Entry, rhs: Entry) -> Bool { lhs.moment < rhs.moment }
        static func == (lhs: Entry, rhs: Entry) -> Bool { lhs.moment == rhs.moment }
    }

    private var heap = Heap<Entry>()

    /// How many stale entries are let be, however few live.
    static var toleratedStale: Int { 1024 }

    init() {}

    init(_ elements: some Sequence<(moment: Timestamp, element: Element)>) {
        heap = Heap(elements.map { Entry(moment: $0.moment, element: $0.element) })
    }

    var count: Int { heap.count }

    mutating func insert(_ element: Element, expires moment: Timestamp) {
        heap.insert(Entry(moment: moment, element: element))
    }

    /// Takes the first out, if it ran out before the moment.
    mutating func popFirst(before moment: Timestamp) -> Element? {
        guard let first = heap.min, first.moment < moment else { return nil }
        return heap.removeMin().element
    }

    func isMostlyStale(live: Int) -> Bool { heap.count > 2 * live + Self.toleratedStale }
}
