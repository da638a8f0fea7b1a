import Delivery
import Storage
import Synchronization

/// Looks up the endpoints of requests together: those that wait when it is the first one's turn. A look-up goes to a thread of the
/// store and back, which costs more than the look-up itself.
final class SubscriptionLookUps: Sendable {
    typealias Read = @Sendable (_ digests: [[UInt8]]) async throws(StoreError) -> [WebPushSubscription?]
    private typealias Found = Result<WebPushSubscription?, StoreError>

    /// How many are looked up together: the requests of some connections, for which the store needs a millisecond.
    static let maximumCount = 200

    private struct Batch {
        var digests: [[UInt8]]
        /// The requests after the first, in the order of their digests.
        var others: [CheckedContinuation<Found, Never>] = []
    }

    private struct State {
        /// Those whose first request has not had its turn, by their numbers.
        var batches: [UInt64: Batch] = [:]
        /// The newest.
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let read: Read

    init(_ read: @escaping Read) { self.read = read }

    /// - Parameter digest: the hash of the endpoint.
    func subscription(with digest: [UInt8]) async throws(StoreError) -> WebPushSubscription? {
        guard let number = begin(digest) else {
            return try await withCheckedContinuation { join(digest, $0) }.get()
        }
        // The requests that wait for the same thread add theirs.
        await Task.yield()
        return try await lookUp(number).get()
    }

    /// Begins a batch.
    /// - Returns: its number; nil if there is one with room.
    private func begin(_ digest: [UInt8]) -> UInt64? {
        state.withLock { state in
            if let newest = state.batches[state.last], newest.digests.count < Self.maximumCount { return nil }
            state.last += 1
            state.batches[state.last] = Batch(digests: [digest])
            return state.last
        }
    }

    /// Adds a request to the newest batch. If that was taken meanwhile, looks the request up alone.
    private func join(_ digest: [UInt8], _ waiting: CheckedContinuation<Found, Never>) {
        let hasJoined = state.withLock { state in
            guard state.batches[state.last] != nil else { return false }
            state.batches[state.last]?.digests.append(digest)
            state.batches[state.last]?.others.append(waiting)
            return true
        }
        if !hasJoined { Task { waiting.resume(returning: await found([digest]).map { $0.first.flatMap(\.self) }) } }
    }

    /// Looks up a batch, and answers the other requests.
    /// - Returns: what the first one asked for.
    private func lookUp(_ number: UInt64) async -> Found {
        guard let batch = state.withLock({ $0.batches.removeValue(forKey: number) }) else { return .success(nil) }
        let all = await found(batch.digests)
        func result(_ index: Int) -> Found { all.map { $0.indices.contains(index) ? $0[index] : nil } }
        for (index, waiting) in batch.others.enumerated() { waiting.resume(returning: result(index + 1)) }
        return result(0)
    }

    private func found(_ digests: [[UInt8]]) async -> Result<[WebPushSubscription?], StoreError> {
        do throws(StoreError) { return .success(try await read(digests)) } catch { return .failure(error) }
    }
}
