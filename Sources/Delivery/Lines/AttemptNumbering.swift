import Notifications
import Synchronization

/// Chooses the number with which a stream's attempts begin.
///
/// The numbers follow the clock. The store keeps a bound above all of them, some time ahead, so that the numbers of a
/// later start begin above it even if the clock was set back. No attempt is sent before the store has the bound,
/// except if the store cannot write: what it holds is delivered nevertheless.
package final class AttemptNumbering: Sendable {
    /// The time for which numbers are reserved. A stream has 600 million numbers in it. A start after a crash skips at
    /// most this time, so millions of crashes fit before the numbers reach ``AttemptMark/maximum``.
    static let reservation: UInt64 = 10 * 60 * 1000 * DeviceLine.numbersPerMillisecond

    private let store: any AttemptNumbers
    /// The store's mark at the start.
    private let origin: AttemptMark?
    /// The bound that the store has.
    private let kept: Atomic<UInt64>
    /// The call of the store that is under way. Its result is whether the store has kept the bound.
    private let keeping = Mutex<Task<Bool, Never>?>(nil)

    private init(_ store: any AttemptNumbers, _ origin: AttemptMark?) {
        self.store = store
        self.origin = origin
        // This start's numbers begin above it.
        kept = Atomic(origin?.bound ?? 0)
    }

    /// Reads the mark that earlier starts have left.
    package static func load(from store: any AttemptNumbers) async throws(StoreError) -> AttemptNumbering {
        AttemptNumbering(store, try await store.attemptMark())
    }

    /// For a switchboard that no later start continues.
    package static let unkept = AttemptNumbering(NoAttemptNumbers(), nil)

    /// Returns a number that no attempt of an earlier start has reached.
    ///
    /// It grows with the clock from the kept bound on. So it grows even over several starts that cannot write. Only if
    /// they cannot write and the clock is behind the time of the bound as well, they all begin with the bound.
    func floor(at now: Timestamp) -> UInt64 {
        guard let origin else { return 0 }
        let (passed, isEarlier) = now.milliseconds.subtractingReportingOverflow(origin.time.milliseconds)
        guard !isEarlier else { return origin.bound }
        let grown = passed.multipliedReportingOverflow(by: DeviceLine.numbersPerMillisecond)
        let floor = origin.bound.addingReportingOverflow(grown.partialValue)
        return grown.overflow || floor.overflow ? origin.bound : floor.partialValue
    }

    /// Returns whether numbers have to be reserved before, or soon after, this one is used.
    func needsReservation(for number: UInt64) -> Bool {
        let (end, overflow) = number.addingReportingOverflow(Self.reservation / 2)
        return overflow || end > kept.load(ordering: .acquiring)
    }

    /// Reserves numbers from this one on, unless enough are reserved. Returns when the store has the bound, or cannot
    /// keep it.
    func reserve(from number: UInt64, at now: Timestamp) async {
        // After a start many lines begin at the same time. They share one call of the store and its result.
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
            // The service's log says what is wrong with the store (`StoreWatch`), and the next line tries again.
            return false
        }
        kept.max(bound, ordering: .releasing)
        return true
    }
}

/// Keeps nothing.
private struct NoAttemptNumbers: AttemptNumbers {
    func attemptMark() async throws(StoreError) -> AttemptMark? { nil }
    func keep(_ mark: AttemptMark) async throws(StoreError) {}
}
