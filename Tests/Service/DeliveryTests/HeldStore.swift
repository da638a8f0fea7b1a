import Delivery
import Notifications
import SQLiteStore
import Storage
import Synchronization

/// Mailboxes whose calls wait at gates, one before and one after the work. So a test decides when a call takes
/// effect, and when its caller gets the result.
final class HeldStore: Mailboxes {
    enum Gate: Hashable, CaseIterable {
        case store, storeAnswer
        case read, readAnswer
        case remove
    }

    private struct State {
        var held: Set<Gate>
        /// How many calls may still pass a closed gate.
        var passes: [Gate: Int] = [:]
        var waiting: [Gate: [CheckedContinuation<Void, Never>]] = [:]
        var failing: [Gate: [StoreError]] = [:]
    }

    let memory: SQLiteStore
    /// The calls that have reached a gate, and the removals that were done.
    let arrivals = Recorder<Gate>()
    let removals = Recorder<MailboxReference>()
    /// The batches by the numbers of their notifications.
    let batches = Recorder<[UInt64]>()
    /// The ages of the entries of each batch.
    let ages = Recorder<[Duration?]>()
    /// How long the entries of each batch have waited.
    let waits = Recorder<[Duration?]>()
    let failures = Recorder<Gate>()
    /// The number of notifications that each sweep removed.
    let sweeps = Recorder<Int>()
    private let state: Mutex<State>

    init(holding gates: Set<Gate> = [], isShared: Bool = false, log: any DeliveryLog = NoDeliveryLog()) throws {
        self.isShared = isShared
        memory = try .inMemory(log: log)
        state = Mutex(State(held: gates))
    }

    /// Waits until this call, counted from 1, has reached the gate.
    func arrival(_ gate: Gate, _ count: Int = 1) async {
        await arrivals.wait { arrivals in arrivals.count { $0 == gate } >= count }
    }

    /// Lets one call pass: the waiting one or the next.
    func pass(_ gate: Gate) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard var waiting = state.waiting[gate], !waiting.isEmpty else {
                state.passes[gate, default: 0] += 1
                return nil
            }
            let first = waiting.removeFirst()
            state.waiting[gate] = waiting
            return first
        }
        continuation?.resume()
    }

    /// Lets all calls pass from now on.
    func open() {
        let waiting = state.withLock { state in
            state.held = []
            let waiting = state.waiting.values.flatMap(\.self)
            state.waiting = [:]
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Makes the next call of this kind fail after it has passed the gate: one item of storing, or a whole reading.
    func fail(_ gate: Gate, _ code: StoreError.Code) {
        state.withLock { $0.failing[gate, default: []].append(StoreError(code, "A test wants it so.")) }
    }

    private func come(to gate: Gate) async {
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state -> Bool in
                guard state.held.contains(gate) else { return true }
                if let passes = state.passes[gate], passes > 0 {
                    state.passes[gate] = passes - 1
                    return true
                }
                state.waiting[gate, default: []].append(continuation)
                return false
            }
            arrivals.record(gate)
            if passes { continuation.resume() }
        }
    }

    private func failure(_ gate: Gate) -> StoreError? {
        let error = state.withLock { state -> StoreError? in
            guard var errors = state.failing[gate], !errors.isEmpty else { return nil }
            let first = errors.removeFirst()
            state.failing[gate] = errors
            return first
        }
        if error != nil { failures.record(gate) }
        return error
    }

    /// Whether the store says that other nodes use it too.
    let isShared: Bool
    /// Whether the store says that the process was stopped.
    var wasStopped: Bool { stopped.withLock(\.self) }
    let stopped = Mutex(false)

    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        ages.record(entries.map(\.age))
        waits.record(entries.map(\.waited))
        batches.record(entries.map(\.notification.number))
        await come(to: .store)
        var results: [Result<MailboxVersion, StoreError>] = []
        for entry in entries {
            // The failure affects the first item.
            if let error = failure(.store) {
                results.append(.failure(error))
            } else {
                results += await memory.store([entry])
            }
        }
        await come(to: .storeAnswer)
        return results
    }

    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await come(to: .remove)
        let results = await memory.remove(references)
        for reference in references { removals.record(reference) }
        return results
    }

    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        await come(to: .read)
        let entries = try await memory.entries(of: device)
        await come(to: .readAnswer)
        if let error = failure(.read) { throw error }
        return entries
    }

    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let count = try await memory.removeExpired(before: moment, limit: limit)
        sweeps.record(count)
        return count
    }
}
