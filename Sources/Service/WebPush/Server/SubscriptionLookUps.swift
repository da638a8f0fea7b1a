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

    /// Requests that are looked up together. Each has joined before the look-up begins.
    private final class Batch: Sendable {
        private struct State {
            var digests: [[UInt8]]
            var isOpen = true
            var waiting: [(place: Int, continuation: CheckedContinuation<Found, Never>)] = []
            var found: Result<[WebPushSubscription?], StoreError>?
        }

        private let state: Mutex<State>

        init(_ digest: [UInt8]) { state = Mutex(State(digests: [digest])) }

        /// - Returns: the request's place; nil if the batch is full, or is being looked up.
        func join(_ digest: [UInt8]) -> Int? {
            state.withLock { state in
                guard state.isOpen, state.digests.count < SubscriptionLookUps.maximumCount else { return nil }
                state.digests.append(digest)
                return state.digests.count - 1
            }
        }

        /// Nobody joins after this.
        func close() -> [[UInt8]] {
            state.withLock { state in
                state.isOpen = false
                return state.digests
            }
        }

        func end(_ found: Result<[WebPushSubscription?], StoreError>) {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.found = found
                return state.waiting
            }
            for (place, continuation) in waiting { continuation.resume(returning: Self.result(found, place)) }
        }

        /// What the request at a place asked for, when the look-up has ended.
        func result(_ place: Int) async -> Found {
            await withCheckedContinuation { continuation in
                let found = state.withLock { state in
                    if state.found == nil { state.waiting.append((place, continuation)) }
                    return state.found
                }
                if let found { continuation.resume(returning: Self.result(found, place)) }
            }
        }

        private static func result(_ found: Result<[WebPushSubscription?], StoreError>, _ place: Int) -> Found {
            found.map { $0.indices.contains(place) ? $0[place] : nil }
        }
    }

    /// Accepts requests until it is looked up.
    private let newest = Mutex<Batch?>(nil)
    private let read: Read

    init(_ read: @escaping Read) { self.read = read }

    /// - Parameter digest: the hash of the endpoint.
    func subscription(with digest: [UInt8]) async throws(StoreError) -> WebPushSubscription? {
        let (batch, place) = newest.withLock { newest in
            if let newest, let place = newest.join(digest) { return (newest, place) }
            let batch = Batch(digest)
            newest = batch
            return (batch, 0)
        }
        if place == 0 {
            // The requests that wait for the same thread join.
            await Task.yield()
            let digests = batch.close()
            // What was found is not kept until the next request.
            newest.withLock { if $0 === batch { $0 = nil } }
            batch.end(await found(digests))
        }
        return try await batch.result(place).get()
    }

    private func found(_ digests: [[UInt8]]) async -> Result<[WebPushSubscription?], StoreError> {
        do throws(StoreError) { return .success(try await read(digests)) } catch { return .failure(error) }
    }
}
