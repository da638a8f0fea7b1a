import CommonTesting
import Testing

@testable import Delivery

@Suite("Elements that are found by their number")
struct NumberedTests {
    @Test(arguments: UInt64(1)...20)
    func `Numbered elements behave like a dictionary, in whatever order they are removed`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (numbered, model, last) = (Numbered<String>(), [UInt64: String](), UInt64(0))
        for step in 0..<400 {
            let known = model.keys.sorted()
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                last += .random(in: 1...3, using: &random)
                numbered.append("\(step)", number: last)
                model[last] = "\(step)"
            case 4...5:
                guard let first = known.first else { continue }
                #expect(numbered.remove(first) == model.removeValue(forKey: first))
            case 6...7:
                let number = UInt64.random(in: 0...(last + 1), using: &random)
                #expect(numbered.remove(number) == model.removeValue(forKey: number))
            case 8:
                guard let number = known.randomElement(using: &random) else { continue }
                numbered[number]? += "!"
                model[number]? += "!"
            default:
                let number = UInt64.random(in: 0...(last + 1), using: &random)
                #expect(numbered[number] == model[number])
            }
            #expect(numbered.count == model.count && numbered.isEmpty == model.isEmpty)
            #expect(numbered.firstNumber { _ in true } == model.keys.min())
        }
        var elements: [String] = []
        numbered.forEach { elements.append($0) }
        #expect(elements == model.sorted { $0.key < $1.key }.map(\.value))
    }

    @Test
    func `Elements removed from the middle do not take room for long, even if the first one stays`() {
        var numbered = Numbered<Int>()
        for number in 0..<10_000 {
            numbered.append(number, number: UInt64(number))
            if number > 0 { #expect(numbered.remove(UInt64(number)) == number) }
        }
        #expect(numbered.count == 1)
        #expect(numbered.places < 100)
    }

    @Test(arguments: UInt64(1)...5)
    func `Closing empty places does not change the remaining elements`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var numbered = Numbered<UInt64>()
        for number in 0..<200 as Range<UInt64> { numbered.append(number, number: number) }
        var left = Set(0..<200 as Range<UInt64>)
        for number in left.filter({ $0 % 5 != 0 }).shuffled(using: &random) {
            #expect(numbered.remove(number) == number)
            left.remove(number)
            #expect(numbered.count == left.count)
            if left.count.isMultiple(of: 20) { #expect((0..<200).filter { numbered[$0] == $0 } == left.sorted()) }
        }
        var elements: [UInt64] = []
        numbered.forEach { elements.append($0) }
        #expect(elements == left.sorted())
        #expect(numbered.places < 100)
    }

    @Test
    func `The first element that meets a condition is found`() {
        var numbered = Numbered<String>()
        for (number, element) in [(2, "a"), (5, "b"), (9, "b")] as [(UInt64, String)] {
            numbered.append(element, number: number)
        }
        #expect(numbered.firstNumber { $0 == "a" } == 2)
        #expect(numbered.firstNumber { $0 == "b" } == 5)
        #expect(numbered.firstNumber { $0 == "c" } == nil)
        numbered.removeAll()
        #expect(numbered.isEmpty)
    }
}
