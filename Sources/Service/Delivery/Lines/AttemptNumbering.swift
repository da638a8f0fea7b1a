import Notifications
package import Storage
import Synchronization

/// Chooses the number of the first delivery attempt of each stream.
///
/// The numbers follow the clock. The store keeps a bound that is greater than all of them, some time ahead. So the
/// numbers of a later start begin above it, even if the clock was set back. No attempt is sent before the store has
/// the bound. The exception is a store that cannot write: its notifications are still delivered.
package final class AttemptNumbering: Sendable {
    /// How long the reserved numbers last, as a count of numbers: a stream has 600 million numbers in this time.
    /// After a crash, a start skips at most as many, so the service can crash millions of times before the numbers
    /// reach ``AttemptMark/maximum``.
    static let reservation: UInt64 = 10 * 60 * 1000 * DeviceLine.numbersPerMillisecond

    private let store: any AttemptNumbers
    /// The mark that the store had at the start.
    private let origin: AttemptMark?
    /// The bound that the store has now.
    private let kept: Atomic<UInt64>
    /// The call of the store that is in progress; its result is whether the store has kept the bound.
    private let keeping = Mutex<Task<Bool, Never>?>(nil)

    private init(_ store: any AttemptNumbers, _ origin: AttemptMark?) {
        self.store = store
        self.origin = origin
        // The numbers of this start begin above the old bound.
        kept = Atomic(origin?.bound ?? 0)
    }

    /// Reads the mark of the earlier starts.
    package static func load(from store: any AttemptNumbers) async throws(StoreError) -> AttemptNumbering {
        AttemptNumbering(store, try await store.attemptMark())
    }

    /// Keeps no mark. This is for switchboards whose numbers no later start has to continue, as in tests.
    package static let unkept = AttemptNumbering(NoAttemptNumbers(), nil)

    /// Returns a number that is greater than all numbers of earlier starts.
    ///
    /// It follows the clock, beginning at the kept bound. So it grows even over several starts that cannot write to
    /// the store. Only if such starts also have a clock that is behind the time of the bound, they all begin at the
    /// bound.
    func floor(at now: Timestamp) -> UInt64 {
        guard let origin else { return 0 }
        let (passed, isEarlier) = now.milliseconds.subtractingReportingOverflow(origin.time.milliseconds)
        guard !isEarlier else { return origin.bound }
        let grown = passed.multipliedReportingOverflow(by: DeviceLine.numbersPerMillisecond)
        let floor = origin.bound.addingReportingOverflow(grown.partialValue)
        return grown.overflow || floor.overflow ? origin.bound : floor.partialValue
    }

    /// Whether numbers have to be reserved now, because this number is not reserved or nearly the last one.
    func needsReservation(for number: UInt64) -> Bool {
        let (end, overflow) = number.addingReportingOverflow(Self.reservation / 2)
        return overflow || end > kept.load(ordering: .acquiring)
    }

    /// Reserves numbers from this one on, unless enough are reserved. Returns when the store has the bound, or has
    /// failed to keep it.
    func reserve(from number: UInt64, at now: Timestamp) async {
        // After a start, many lines begin at the same time. They share one call of the store.
        while needsReservation(for: number) {
            let task = keeping.withLock { keeping in
                if let keeping { return keeping }
                let task = Task { await keep(from: number, at: now) }
                keeping = task
                return task
            }
            guard await task.value else { return }
        }
    }

    private func keep(from number: UInt64, at now: Timestamp) async -> Bool {
        defer { keeping.withLock { $0 = nil } }
        let (bound, overflow) = number.addingReportingOverflow(Self.reservation)
        guard !overflow, let mark = AttemptMark(bound: bound, time: now) else { return false }
        do throws(StoreError) {
            try await store.keep(mark)
        } catch {
            // Do not log this, because `StoreWatch` logs what is wrong with the store. The next line tries again.
            return false
        }
        kept.max(bound, ordering: .releasing)
        return true
    }
}

/// Keeps no numbers.
private struct NoAttemptNumbers: AttemptNumbers {
    func attemptMark() async throws(StoreError) -> AttemptMark? { nil }
    func keep(_ mark: AttemptMark) async throws(StoreError) {}
}
