import Delivery
import DequeModule
import Notifications

/// All feedback lists. Each entry gets a number. Numbers only grow and are never used again. All entries are in one
/// queue, which has a place for each number from the oldest entry to the newest, and each list knows the numbers of
/// its entries.
struct FeedbackLists: Sendable {
    private struct Place: Sendable {
        let list: FeedbackList
        /// The entry; nil if it was removed.
        var entry: FeedbackEntry?
    }

    private struct Key: Hashable, Sendable {
        let destination: Destination
        let generation: UInt32

        init(_ entry: FeedbackEntry) { self.init(entry.destination, entry.generation) }

        init(_ destination: Destination, _ generation: UInt32) {
            self.destination = destination
            self.generation = generation
        }
    }

    private var places = Deque<Place>()
    /// The number of the queue's first place.
    private var first: UInt64 = 1
    private var numbers: [FeedbackList: Deque<UInt64>] = [:]
    private var listed: [Key: UInt64] = [:]
    private let limit: Int

    /// - Parameter limit: the largest number of places in the queue.
    init(limit: Int) { self.limit = max(1, limit) }

    var count: Int { listed.count }
    /// The number of places, including those of removed entries.
    var placeCount: Int { places.count }

    /// Adds an entry if its list does not have it yet.
    mutating func insert(_ entry: FeedbackEntry) {
        let number = first + UInt64(places.count)
        guard listed[Key(entry)] == nil else { return }
        listed[Key(entry)] = number
        numbers[entry.list, default: []].append(number)
        places.append(Place(list: entry.list, entry: entry))
        if places.count > limit { dropFirst() }
    }

    func take(_ list: FeedbackList, after mark: FeedbackMark?, limit: Int) -> [TakenFeedback] {
        guard let numbers = numbers[list] else { return [] }
        var taken: [TakenFeedback] = []
        for number in numbers[Self.firstPlace(in: numbers, after: mark?.rawValue ?? 0)...] {
            guard taken.count < limit else { break }
            guard let entry = places[place(number)].entry else { continue }
            taken.append(
                TakenFeedback(mark: FeedbackMark(rawValue: number), token: entry.token, moment: entry.moment))
        }
        return taken
    }

    mutating func confirm(_ list: FeedbackList, through mark: FeedbackMark) {
        guard var numbers = numbers.removeValue(forKey: list) else { return }
        while let number = numbers.first, number <= mark.rawValue {
            numbers.removeFirst()
            takeOut(number)
        }
        if !numbers.isEmpty { self.numbers[list] = numbers }
        trim()
    }

    /// Removes the entries of an app's token and of its services' tokens from their list.
    mutating func remove(_ destination: Destination, generation: UInt32) {
        for service in TopicKind.allCases {
            let number = TokenNumber.make(generation: generation, service: service)
            if let place = listed[Key(destination, number)] { takeOut(place) }
        }
        trim()
    }

    /// Removes the lists of the given apps.
    mutating func removeLists(where condition: (AppID) -> Bool) {
        for list in numbers.keys where condition(list.app) { confirm(list, through: FeedbackMark(rawValue: .max)) }
    }

    private func place(_ number: UInt64) -> Int { Int(number - first) }

    /// Empties the place of an entry. Its list keeps the number until that number is the oldest.
    private mutating func takeOut(_ number: UInt64) {
        guard let entry = places[place(number)].entry else { return }
        places[place(number)].entry = nil
        listed[Key(entry)] = nil
    }

    /// Removes empty places from the front of the queue.
    private mutating func trim() {
        while let oldest = places.first, oldest.entry == nil { dropFirst() }
    }

    private mutating func dropFirst() {
        guard let oldest = places.popFirst() else { return }
        if let entry = oldest.entry { listed[Key(entry)] = nil }
        // This is the list's oldest number, because the list's older entries were removed before.
        if numbers[oldest.list]?.first == first { numbers[oldest.list]?.removeFirst() }
        if numbers[oldest.list]?.isEmpty ?? false { numbers[oldest.list] = nil }
        first += 1
    }

    private static func firstPlace(in numbers: Deque<UInt64>, after mark: UInt64) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] <= mark { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension FeedbackEntry {
    fileprivate var list: FeedbackList { FeedbackList(environment: destination.environment, app: destination.app) }
}
