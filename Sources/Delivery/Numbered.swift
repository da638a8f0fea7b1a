import DequeModule

/// Elements by number. Numbers only grow; mostly there is one element, and where there are more, mostly the first one
/// goes: nothing is hashed, and one takes no memory of its own.
struct Numbered<Element> {
    private var first: (number: UInt64, element: Element)?
    /// Those after it. What is taken out from between leaves an empty place: to close it would move all others.
    private var others = Deque<(number: UInt64, element: Element?)>()
    private var emptyPlaces = 0

    /// From how many empty places on they are closed, if they are more than the others.
    private static var closingAt: Int { 16 }

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : 1 + others.count - emptyPlaces }
    /// How many elements it has room taken for.
    var places: Int { others.count + 1 }

    /// Adds an element with a number above all others.
    mutating func append(_ element: Element, number: UInt64) {
        assert((others.last?.number ?? first?.number).map { $0 < number } ?? true)
        if first == nil { first = (number, element) } else { others.append((number, element)) }
    }

    /// The element with a number, where there is one; setting changes it, or takes it out.
    subscript(number: UInt64) -> Element? {
        get {
            if first?.number == number { return first?.element }
            return place(of: number).flatMap { others[$0].element }
        }
        set {
            guard let newValue else {
                _ = remove(number)
                return
            }
            if first?.number == number {
                first?.element = newValue
            } else if let place = place(of: number), others[place].element != nil {
                others[place].element = newValue
            }
        }
    }

    mutating func remove(_ number: UInt64) -> Element? {
        guard let first, first.number == number else { return removeFromOthers(number) }
        self.first = nil
        while self.first == nil, let next = others.popFirst() {
            if let element = next.element { self.first = (next.number, element) } else { emptyPlaces -= 1 }
        }
        return first.element
    }

    private mutating func removeFromOthers(_ number: UInt64) -> Element? {
        guard let place = place(of: number), let element = others[place].element else { return nil }
        others[place].element = nil
        emptyPlaces += 1
        if emptyPlaces >= Self.closingAt, emptyPlaces > others.count / 2 {
            others.removeAll { $0.element == nil }
            emptyPlaces = 0
        }
        return element
    }

    mutating func removeAll() { self = Numbered() }

    /// The number of the first element that is such.
    func firstNumber(where condition: (Element) -> Bool) -> UInt64? {
        if let first, condition(first.element) { return first.number }
        return others.first { $0.element.map(condition) ?? false }?.number
    }

    /// All elements, in the order of their numbers.
    func forEach(_ body: (Element) -> Void) {
        if let first { body(first.element) }
        for case (_, let element?) in others { body(element) }
    }

    private func place(of number: UInt64) -> Int? {
        var (low, high) = (0, others.count)
        while low < high {
            let middle = (low + high) / 2
            if others[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < others.count && others[low].number == number ? low : nil
    }
}
