import Testing
import Trust
import WebPush

/// The memory of verified tokens.
struct VAPIDMemoryTests {
    private func verified(_ number: UInt8) -> VerifiedVAPID { VerifiedVAPID(key: [number], expires: 1) }

    @Test func `A token is recalled, whatever the endpoint`() {
        var memory = VAPIDMemory<Int>()
        memory.remember([1], as: verified(1), of: 7)
        #expect(memory.recall([1]) == verified(1) && memory.recall([2]) == nil)
        memory.remember([1], as: verified(1), of: 8)
        #expect(memory.count == 1)
    }

    @Test func `Beyond the bound the oldest is forgotten`() {
        var memory = VAPIDMemory<Int>(capacity: 3, capacityOfEndpoint: 3)
        for number in 0..<5 { memory.remember([UInt8(number)], as: verified(UInt8(number)), of: number) }
        #expect(memory.count == 3)
        #expect((0..<5).map { memory.recall([UInt8($0)]) != nil } == [false, false, true, true, true])
    }

    @Test func `An endpoint with many tokens forgets its own only`() {
        var memory = VAPIDMemory<String>(capacity: 100, capacityOfEndpoint: 4)
        memory.remember([200], as: verified(200), of: "other")
        for number in 0..<150 { memory.remember([UInt8(number)], as: verified(UInt8(number)), of: "stranger") }
        #expect(memory.count == 5 && memory.recall([200]) != nil)
        #expect((0..<150).filter { memory.recall([UInt8($0)]) != nil } == [146, 147, 148, 149])
    }

    @Test func `Many endpoints with many tokens stay within the bound`() {
        var memory = VAPIDMemory<Int>(capacity: 10, capacityOfEndpoint: 2)
        for number in 0..<10_000 {
            let bytes = [UInt8(number & 0xff), UInt8(number >> 8)]
            memory.remember(bytes, as: verified(1), of: number % 7)
            #expect(memory.count <= 10)
        }
    }
}
