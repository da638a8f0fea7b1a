package import Delivery
import Dispatch
import GRDB
import Synchronization

extension SQLiteStore: Store {
    package var knownRegistrations: any KnownRegistrations { registrations }

    package var broadcastChannels: (any Channels)? { self }

    package func trouble() async -> StoreError? {
        if let trouble = files.trouble { return trouble }
        return await reading()
    }

    /// Completes the accepted writes and closes the files. Later calls fail.
    package func close() async {
        await commits.close()
        await openReads.close()
        accounts.finish()
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [pool] in
                // Copy the log into the database. If this fails, the next start does it. Closing does not copy the log
                // if the last connection to close is a reader's, because readers cannot write. The log keeps its size:
                // GRDB writes to an empty one when it opens the database, for which a full disk has no room.
                try? pool.writeWithoutTransaction { _ = try $0.checkpoint(.restart) }
                try? pool.close()
                continuation.resume()
            }
        }
        folder.unlock()
    }
}
