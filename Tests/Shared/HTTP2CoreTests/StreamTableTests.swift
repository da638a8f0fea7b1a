import HTTP2Core
import Testing

@Suite struct StreamTableTests {
    @Test func `An element is found by its stream`() throws {
        var table = StreamTable<String>()
        for id in [1, 3, 5] as [UInt32] { table.append(StreamID(id), "\(id)") }
        let index = try #require(table.index(of: StreamID(3)))
        #expect(table[index] == "3")
    }

    @Test func `Removing leaves the others`() {
        var table = StreamTable<UInt32>()
        for id in [1, 3, 5, 7] as [UInt32] { table.append(StreamID(id), id) }
        #expect(table.remove(StreamID(3)) == 3)
        #expect(table.remove(StreamID(3)) == nil)
        #expect(table.removeAll().map(\.element) == [1, 5, 7])
        #expect(table.isEmpty)
    }

    @Test(arguments: [15, 16, 17, 33, 100]) func `Every one of many is found`(_ count: UInt32) {
        var table = StreamTable<UInt32>()
        for id in 1...count { table.append(StreamID(id), id) }
        let found = (1...count).compactMap { id in table.index(of: StreamID(id)).map { table[$0] } }
        #expect(found == Array(1...count))
        #expect(table.index(of: StreamID(count + 1)) == nil)
        #expect(table.index(of: StreamID(0)) == nil)
    }

    @Test func `An element is changed in place`() throws {
        var table = StreamTable<[Int]>()
        table.append(StreamID(1), [])
        let index = try #require(table.index(of: StreamID(1)))
        table[index].append(4)
        #expect(table[index] == [4])
    }

    @Test(arguments: 0..<20) func `After any changes the table has what a dictionary has`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (table, model) = (StreamTable<UInt64>(), [UInt32: UInt64]())
        var next: UInt32 = 1
        for _ in 0..<2_000 {
            // Streams mostly end in the order in which they began, and numbers may be skipped.
            if Bool.random(using: &random) || model.isEmpty {
                next += 2 * UInt32.random(in: 1...9, using: &random) / 8 * 2 + 2
                model[next] = random.next()
                table.append(StreamID(next), model[next] ?? 0)
            } else if let stream = Bool.random(using: &random)
                ? model.keys.min() : model.keys.randomElement(using: &random)
            {
                #expect(table.remove(StreamID(stream)) == model.removeValue(forKey: stream))
                #expect(table.remove(StreamID(stream)) == nil)
            }
            if UInt8.random(in: 0..<100, using: &random) == 0 { table.releaseIdleMemory() }
        }
        #expect(table.count == model.count)
        #expect(model.allSatisfy { table[StreamID($0.key)] == $0.value })
        #expect(table.streams { _ in true } == model.keys.sorted().map { StreamID($0) })
    }
}
