/// Counts the versions of mailboxes. They only increase, and no version is used twice, even after a crash.
///
/// The database has a reservation for a block of versions, so that storing does not write the version each time. After
/// a restart the versions continue after the block.
struct MailboxVersions {
    /// How many versions are reserved at once. One write in a million stores is nothing, and 2^63 versions are enough
    /// for as many restarts as there are milliseconds in 250 years.
    static let blockSize: UInt64 = 1 << 20

    /// The next version.
    private(set) var next: UInt64
    /// The first version that no committed reservation covers.
    private(set) var reserved: UInt64

    /// - Parameter reserved: the reservation in the database. No version below it may be used.
    init(reserved: UInt64) {
        next = reserved
        self.reserved = reserved
    }

    /// The result of ``take(_:)``.
    struct Taken: Equatable {
        /// The first of the versions taken.
        let first: UInt64
        /// If it is set, the transaction that uses the versions must write this reservation too.
        let reservation: UInt64?
    }

    /// Takes a number of consecutive versions. They are used up even if the transaction is rolled back.
    mutating func take(_ count: Int) -> Taken {
        let first = next
        next += UInt64(count)
        return Taken(first: first, reservation: next > reserved ? next + Self.blockSize : nil)
    }

    /// The reservation has been committed.
    mutating func committed(_ reservation: UInt64) {
        reserved = max(reserved, reservation)
    }
}
