import NIOEmbedded
import Synchronization
import Testing

@testable import Connections

@Suite("What follows a batch")
struct AfterBatchTests {
    /// What happened, in order.
    private final class Record: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock { $0 } }
        func note(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    private let loop = EmbeddedEventLoop()
    private let record = Record()

    @Test("what a batch gives to its event loop is done once it has been handed on, in order, before the loop's tasks")
    func afterBatch() {
        loop.execute { [record] in record.note("task") }
        AfterBatch.handOn {
            for number in 1...2 { AfterBatch.perform(on: loop) { [record] in record.note("work \(number)") } }
            record.note("batch")
        }
        #expect(record.all == ["batch", "work 1", "work 2"])
        loop.run()
        #expect(record.all == ["batch", "work 1", "work 2", "task"])
    }

    @Test("where no batch is being handed on it is one of the loop's tasks")
    func withoutBatch() {
        AfterBatch.perform(on: loop) { [record] in record.note("work") }
        #expect(record.all == [])
        loop.run()
        #expect(record.all == ["work"])
    }

    @Test("what the work itself gives is one of the loop's tasks: a batch comes to an end")
    func workGivesWork() {
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [loop, record] in
                AfterBatch.perform(on: loop) { record.note("later") }
                record.note("work")
            }
        }
        #expect(record.all == ["work"])
        loop.run()
        #expect(record.all == ["work", "later"])
    }

    @Test("a batch within a batch is a part of it")
    func nestedBatch() {
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [record] in record.note("work") }
            AfterBatch.handOn { record.note("inner") }
            record.note("outer")
        }
        #expect(record.all == ["inner", "outer", "work"])
    }

    @Test("what is given to another thread's event loop is done there")
    func otherThread() async {
        let loop = NIOAsyncTestingEventLoop()
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [record] in record.note(loop.inEventLoop ? "on its loop" : "elsewhere") }
        }
        await loop.run()
        #expect(record.all == ["on its loop"])
        await loop.shutdownGracefully()
    }
}
