package import Notifications
package import Storage

/// Bodies of Web Push that did not fit into a notification, until phones have fetched them. All times are the service's.
package protocol WebPushBodies: Sendable {
    /// Keeps a body. Its digest is a new one.
    /// - Throws: ``StoreError/Code/conflict`` if the owner has ``KeptBody/maximumCount`` bodies or would have more than
    ///   ``KeptBody/maximumBytes``, or if all owners together would have more than ``KeptBody/maximumBytesOfAll``.
    func keep(_ body: KeptBody, at now: Timestamp) async throws(StoreError)

    /// - Returns: nil if there is none, or its time is over.
    func body(with digest: [UInt8], at now: Timestamp) async throws(StoreError) -> KeptBody?

    /// Takes note that a body was fetched whole. From the first time on it is kept for ``KeptBody/lifeAfterFetch``, whatever its
    /// TTL is.
    func fetched(_ digest: [UInt8], at now: Timestamp) async throws(StoreError)

    /// Removes a body that nobody can fetch, because the upstream refused the notification.
    func remove(_ digest: [UInt8]) async throws(StoreError)
}

/// The upkeep and the copying of kept bodies.
package protocol WebPushBodyStore: WebPushBodies {
    /// Keeps a body, like ``WebPushBodies/keep(_:at:)``.
    /// - Parameter bytesOfAll: how many bytes are kept for all owners together.
    func keep(_ body: KeptBody, at now: Timestamp, bytesOfAll: Int) async throws(StoreError)

    /// Removes bodies whose time is over.
    /// - Returns: how many.
    @discardableResult
    func removeExpired(at now: Timestamp) async throws(StoreError) -> Int

    /// Returns bodies in the order of their digests, for a copy of the store.
    /// - Parameter digest: the page begins after it; nil for the first page.
    func bodies(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [KeptBody]

    /// Writes into an empty store, for a copy.
    func fill(_ bodies: [KeptBody]) async throws(StoreError)
}

extension WebPushBodyStore {
    package func keep(_ body: KeptBody, at now: Timestamp) async throws(StoreError) {
        try await keep(body, at: now, bytesOfAll: KeptBody.maximumBytesOfAll)
    }
}

extension StoreError {
    package static let tooManyKeptBodies = StoreError(
        .conflict,
        "\(KeptBody.maximumCount) messages, or \(KeptBody.maximumBytes / 1024) KiB of them, wait to be fetched already."
    )

    package static let keptBodiesAreFull = StoreError(
        .conflict, "\(KeptBody.maximumBytesOfAll / 1_048_576) MiB of messages wait to be fetched already.")
}
