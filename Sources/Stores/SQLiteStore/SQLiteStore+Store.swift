package import Delivery
import Dispatch
import GRDB
import SQLiteSupport
package import Storage
import Synchronization

extension SQLiteStore: Store {
    package var knownRegistrations: any KnownRegistrations { registrations }

    package var broadcastChannels: any Channels { self }

    package func trouble() async -> StoreError? {
        if let trouble = files?.database.trouble { return trouble }
        return await reading()
    }

    /// Completes the accepted writes and closes the files. Later calls fail.
    package func close() async {
        await commits.close()
        await openReads.close()
        accounts.finish()
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [connections] in
                // Copy the log into the database. Closing does so only if the last connection to close can write, and
                // a reader's cannot. If the copy fails, the next start makes it. Do not empty the log: GRDB would
                // write to an empty log when it opens the database, and that fails on a full disk.
                try? connections.writeWithoutTransaction { _ = try $0.checkpoint(.restart) }
                try? connections.close()
                continuation.resume()
            }
        }
        files?.folder.unlock()
    }
}
