import NIOEmbedded
import Synchronization
import Testing

@testable import Connections

@Suite("Work after a batch")
struct AfterBatchTests {
    /// What happened, in order.
    private final class Record: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock { $0 } }
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    private let loop = EmbeddedEventLoop()
    private let record = Record()

    @Test
    func `Work that a batch adds to its event loop runs after the batch, in order, before the loop's other tasks`() {
        loop.execute { [record] in record.add("task") }
        AfterBatch.handOn {
            for number in 1...2 { AfterBatch.perform(on: loop) { [record] in record.add("work \(number)") } }
            record.add("batch")
        }
        #expect(record.all == ["batch", "work 1", "work 2"])
        loop.run()
        #expect(record.all == ["batch", "work 1", "work 2", "task"])
    }

    @Test
    func `Outside a batch the work is a task of the event loop`() {
        AfterBatch.perform(on: loop) { [record] in record.add("work") }
        #expect(record.all == [])
        loop.run()
        #expect(record.all == ["work"])
    }

    @Test
    func `Work that is added by a batch's own work becomes a task of the event loop, so that the batch ends`() {
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [loop, record] in
                AfterBatch.perform(on: loop) { record.add("later") }
                record.add("work")
            }
        }
        #expect(record.all == ["work"])
        loop.run()
        #expect(record.all == ["work", "later"])
    }

    @Test
    func `A batch within a batch belongs to the outer one`() {
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [record] in record.add("work") }
            AfterBatch.handOn { record.add("inner") }
            record.add("outer")
        }
        #expect(record.all == ["inner", "outer", "work"])
    }

    @Test
    func `Work for another thread's event loop runs there`() async {
        let loop = NIOAsyncTestingEventLoop()
        AfterBatch.handOn {
            AfterBatch.perform(on: loop) { [record] in record.add(loop.inEventLoop ? "on its loop" : "elsewhere") }
        }
        await loop.run()
        #expect(record.all == ["on its loop"])
        await loop.shutdownGracefully()
    }
}
