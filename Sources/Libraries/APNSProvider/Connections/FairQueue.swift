import DequeModule

/// A queue whose elements belong to shares, each with the same right to go first: one element of each share in turn. So a
/// share with many elements does not delay the others. Elements without a share go before all others, in their order.
struct FairQueue<Element> {
    private var unshared = Deque<Element>()
    private var lanes: [String: Deque<Element>] = [:]
    /// The shares that have elements, in the order of their turns.
    private var turns = Deque<String>()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element, share: String?) {
        count += 1
        guard let share else { return unshared.append(element) }
        if Self.append(element, to: &lanes[share, default: Deque()]) { turns.append(share) }
    }

    /// - Returns: whether the lane was empty.
    private static func append(_ element: Element, to lane: inout Deque<Element>) -> Bool {
        defer { lane.append(element) }
        return lane.isEmpty
    }

    /// Puts an element back that was taken. It is the next one.
    mutating func prepend(_ element: Element, share: String?) {
        count += 1
        guard let share else { return unshared.prepend(element) }
        if !lanes[share, default: Deque()].isEmpty { turns.removeAll { $0 == share } }
        lanes[share, default: Deque()].prepend(element)
        turns.prepend(share)
    }

    mutating func popFirst() -> Element? {
        if let first = unshared.popFirst() {
            count -= 1
            return first
        }
        guard let share = turns.popFirst(), let lane = lanes.index(forKey: share),
            let first = lanes.values[lane].popFirst()
        else { return nil }
        count -= 1
        if lanes.values[lane].isEmpty { lanes.remove(at: lane) } else { turns.append(share) }
        return first
    }

    /// Makes room in a full queue for an element of a share: removes the newest element of the longest share.
    /// - Returns: nil if no other share is longer than this one will be. Then the queue has no room for the element.
    mutating func makeRoom(for share: String?) -> Element? {
        guard let share, let longest = lanes.max(by: { $0.value.count < $1.value.count }),
            longest.value.count > (lanes[share]?.count ?? 0) + 1, let newest = lanes[longest.key]?.popLast()
        else { return nil }
        count -= 1
        return newest
    }

    func contains(where isChosen: (Element) -> Bool) -> Bool {
        unshared.contains(where: isChosen) || lanes.values.contains { $0.contains(where: isChosen) }
    }

    /// Removes the chosen elements, and returns them.
    mutating func remove(where isChosen: (Element) -> Bool) -> [Element] {
        guard contains(where: isChosen) else { return [] }
        var removed = unshared.filter(isChosen)
        unshared.removeAll(where: isChosen)
        for share in turns {
            guard let lane = lanes[share], lane.contains(where: isChosen) else { continue }
            removed += lane.filter(isChosen)
            let rest = lane.filter { !isChosen($0) }
            lanes[share] = rest.isEmpty ? nil : Deque(rest)
        }
        turns.removeAll { lanes[$0] == nil }
        count -= removed.count
        return Array(removed)
    }

    mutating func removeAll() -> [Element] { remove { _ in true } }
}
