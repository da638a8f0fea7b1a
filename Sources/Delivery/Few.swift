/// What a state machine wants done: mostly one thing, which takes no memory of its own.
struct Few<Element>: Sequence {
    private var first: Element?
    private var others: [Element] = []

    init() {}

    /// - Parameter minimumCapacity: how many it will be, where that is known to be more than a few.
    init(minimumCapacity: Int) { others.reserveCapacity(minimumCapacity) }

    init(_ elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    var isEmpty: Bool { first == nil }

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    struct Iterator: IteratorProtocol {
        fileprivate var first: Element?
        fileprivate var others: ArraySlice<Element>

        mutating func next() -> Element? {
            guard let element = first else { return others.popFirst() }
            first = nil
            return element
        }
    }

    func makeIterator() -> Iterator { Iterator(first: first, others: others[...]) }
}

extension Few: Sendable where Element: Sendable {}

extension Few: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: Element...) { self.init(elements) }
}
