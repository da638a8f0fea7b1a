package import Notifications
package import Storage

/// Stores how far the numbers of delivery attempts have come, so that they grow from one start of the service to the
/// next, whatever the machine's clock says.
///
/// The numbers follow the clock (``DeviceLine``). If the clock was set back between two starts, a number would mean
/// two attempts, and a late acknowledgement could remove a notification that never arrived.
package protocol AttemptNumbers: Sendable {
    /// Returns the mark with the greatest bound that was ever kept, by any node; nil if there is none.
    func attemptMark() async throws(StoreError) -> AttemptMark?

    /// Stores a mark. Returns when it would survive a crash. If a mark with an equal or greater bound is already
    /// stored, that one stays.
    func keep(_ mark: AttemptMark) async throws(StoreError)
}

/// A bound of the numbers of delivery attempts.
package struct AttemptMark: Sendable, Hashable {
    /// The largest bound: every JSON parser can hold smaller numbers (RFC 8259, 6).
    package static let maximum: UInt64 = 1 << 53

    /// All attempts have smaller numbers.
    package let bound: UInt64
    /// The time at which the bound was chosen, by the clock as it was then.
    package let time: Timestamp

    /// - Returns: nil if the bound is greater than ``maximum``, which only damage to the store can cause.
    package init?(bound: UInt64, time: Timestamp) {
        guard bound <= Self.maximum else { return nil }
        self.bound = bound
        self.time = time
    }
}
