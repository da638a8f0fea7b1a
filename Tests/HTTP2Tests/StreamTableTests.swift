import HTTP2
import Testing

@Suite struct StreamTableTests {
    @Test func anElementIsFoundByItsStream() throws {
        var table = StreamTable<String>()
        for id in [1, 3, 5] as [Int32] { table.append(StreamID(id), "\(id)") }
        let index = try #require(table.index(of: StreamID(3)))
        #expect(table[index] == "3")
    }

    @Test func removingLeavesTheOthers() {
        var table = StreamTable<Int32>()
        for id in [1, 3, 5, 7] as [Int32] { table.append(StreamID(id), id) }
        #expect(table.remove(StreamID(3)) == 3)
        #expect(table.remove(StreamID(3)) == nil)
        #expect(table.removeAll().map(\.element) == [1, 5, 7])
        #expect(table.isEmpty)
    }

    @Test func anElementIsChangedInPlace() throws {
        var table = StreamTable<[Int]>()
        table.append(StreamID(1), [])
        let index = try #require(table.index(of: StreamID(1)))
        table[index].append(4)
        #expect(table[index] == [4])
    }
}
