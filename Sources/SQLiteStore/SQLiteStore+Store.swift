package import Delivery
import Dispatch
import GRDB

extension SQLiteStore: Store {
    package var knownRegistrations: any KnownRegistrations { registrations }

    /// Writes what was taken, and closes the files; whatever is asked after that is refused.
    package func close() async {
        await commits.close()
        await openReads.close()
        accounts.finish()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [pool] in
                // Thrown away: everything is committed, and the next start finds it in the log where the copying of
                // the log into the database, which closing does, did not work.
                try? pool.close()
                continuation.resume()
            }
        }
        folder.unlock()
    }
}
