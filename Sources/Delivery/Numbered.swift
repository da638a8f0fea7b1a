import DequeModule

/// Elements by number. Numbers only grow; mostly there is one element, and where there are more, mostly the first one
/// goes: nothing is hashed, and one takes no memory of its own.
struct Numbered<Element> {
    typealias Entry = (number: UInt64, element: Element)

    private var first: Entry?
    private var others = Deque<Entry>()

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : others.count + 1 }

    /// Adds an element with a number above all others.
    mutating func append(_ element: Element, number: UInt64) {
        if first == nil { first = (number, element) } else { others.append((number, element)) }
    }

    /// The element with a number, where there is one; setting changes it, or takes it out.
    subscript(number: UInt64) -> Element? {
        get {
            if first?.number == number { return first?.element }
            return place(of: number).map { others[$0].element }
        }
        set {
            guard let newValue else {
                _ = remove(number)
                return
            }
            if first?.number == number {
                first?.element = newValue
            } else if let place = place(of: number) {
                others[place].element = newValue
            }
        }
    }

    mutating func remove(_ number: UInt64) -> Element? {
        if let first, first.number == number {
            self.first = others.popFirst()
            return first.element
        }
        return place(of: number).map { others.remove(at: $0).element }
    }

    mutating func removeAll() {
        first = nil
        others.removeAll()
    }

    /// The number of the first element that is such.
    func firstNumber(where condition: (Element) -> Bool) -> UInt64? {
        if let first, condition(first.element) { return first.number }
        return others.first { condition($0.element) }?.number
    }

    /// All elements, in the order of their numbers.
    func forEach(_ body: (Element) -> Void) {
        if let first { body(first.element) }
        for entry in others { body(entry.element) }
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
