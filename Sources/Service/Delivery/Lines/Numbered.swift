import DequeModule

/// Elements that are found by their numbers, which only grow. It is made for the usual case: there is only one
/// element, or the first one is removed first. So it needs no hashing, and a single element needs no allocation.
struct Numbered<Element> {
    private var first: (number: UInt64, element: Element)?
    /// The elements after the first one. Removing one from the middle leaves an empty place, because closing the gap
    /// would move all later elements.
    private var others = Deque<(number: UInt64, element: Element?)>()
    private var emptyPlaces = 0

    /// Empty places are removed if there are at least this many, and more than elements.
    private static var closingAt: Int { 16 }

    var isEmpty: Bool { first == nil }
    /// The number of the last element, or of an empty place after it.
    var lastNumber: UInt64? { others.last?.number ?? first?.number }
    var count: Int { first == nil ? 0 : 1 + others.count - emptyPlaces }
    /// The number of places in memory, including empty ones.
    var places: Int { others.count + 1 }

    /// Appends an element. Its number must be greater than all others.
    mutating func append(_ element: Element, number: UInt64) {
        assert(lastNumber.map { $0 < number } ?? true, "The numbers do not grow.")
        if first == nil { first = (number, element) } else { others.append((number, element)) }
    }

    /// The element with this number; nil if there is none. Setting it changes the element, and setting nil removes
    /// it.
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

    /// Returns the number of the first element that meets the condition.
    func firstNumber(where condition: (Element) -> Bool) -> UInt64? {
        if let first, condition(first.element) { return first.number }
        return others.first { $0.element.map(condition) ?? false }?.number
    }

    /// Calls `body` with each element, in the order of the numbers.
    func forEach(_ body: (Element) -> Void) {
        if let first { body(first.element) }
        for case (_, let element?) in others { body(element) }
    }

    /// Checks what always holds. Always returns true, so that `assert` can call it.
    func checkInvariants() -> Bool {
        assert(first != nil || others.isEmpty, "Elements follow none.")
        assert((0...others.count).contains(emptyPlaces), "There are more empty places than places.")
        return true
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
