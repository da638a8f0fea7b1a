package import Storage

/// Since when a request's change is under way. In a shared store another server may meanwhile have answered a newer request
/// about the same thing, because the first one got no answer. A change that has its locks only after ``limit`` is refused.
/// What comes after the locks were taken is newer.
package struct Promptness: Sendable {
    /// Longer than a store under load takes, and shorter than clients wait before they ask another server.
    package static let limit = Duration.seconds(2)

    private let began: ContinuousClock.Instant

    /// - Parameter now: when the request came.
    package init(at now: ContinuousClock.Instant) { began = now }

    /// Call it in the transaction, when it has its locks.
    package func check(at now: ContinuousClock.Instant) throws(StoreError) {
        guard began.duration(to: now) <= Self.limit else { throw .lateChange }
    }
}

extension StoreError {
    static let lateChange = StoreError(
        .unavailable,
        "It took so long to reach the database that another server may have changed the same meanwhile. Send the request again "
            + "if it is still what you want.")
}

extension CampaignStore {
    /// Returns a check for a change that a request begins now. It does nothing if no other server uses the store.
    package func promptness() -> @Sendable () throws -> Void {
        guard isShared else { return {} }
        let (promptness, uptime) = (Promptness(at: uptime()), uptime)
        return { try promptness.check(at: uptime()) }
    }
}
