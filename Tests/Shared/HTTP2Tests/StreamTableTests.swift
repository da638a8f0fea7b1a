import HTTP2
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
}
