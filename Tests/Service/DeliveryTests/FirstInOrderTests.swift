import CommonTesting
import Delivery
import Testing

/// The first of many, without sorting all of them.
@Suite struct FirstInOrderTests {
    @Test(arguments: [0, 1, 7, 100, 1000], [0, 1, 50, 5000])
    func `The elements equal the beginning of the sorted list`(_ limit: Int, _ count: Int) {
        var random = SeededGenerator(seed: 7)
        let numbers = (0..<count).map { _ in Int.random(in: 0..<10_000, using: &random) }
        for order in [numbers, numbers.sorted(), numbers.sorted().reversed()] {
            var page = FirstInOrder<Int>(limit)
            for number in order { page.insert(number) }
            #expect(page.elements == Array(numbers.sorted().prefix(limit)))
        }
    }
}
