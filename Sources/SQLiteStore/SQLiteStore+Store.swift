package import Delivery
import Dispatch
import GRDB
import Synchronization

extension SQLiteStore: Store {
    package var knownRegistrations: any KnownRegistrations { registrations }

    package func trouble() async -> StoreError? {
        if let trouble = files.trouble { return trouble }
        return await reading()
    }

    /// Writes what was taken, and closes the files; whatever is asked after that is refused.
    package func close() async {
        await commits.close()
        await openReads.close()
        accounts.finish()
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [pool] in
                // The log keeps its size, because GRDB writes to an empty one when it opens the database, which a full
                // disk would not allow. What cannot be done here stays in the write-ahead log, where the next start finds it. Closing alone would
                // not copy it: a reader's connection, which cannot write, may be the last to close.
                try? pool.writeWithoutTransaction { _ = try $0.checkpoint(.restart) }
                try? pool.close()
                continuation.resume()
            }
        }
        folder.unlock()
    }
}
