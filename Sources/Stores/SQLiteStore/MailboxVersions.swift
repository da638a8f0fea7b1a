/// Counts the versions of mailboxes. They only increase, and no version is used twice, even after a crash.
///
/// The database contains a reservation for a block of versions, so that storing a notification need not write its
/// version. After a restart, the versions continue after that block.
struct MailboxVersions {
    /// How many versions are reserved at a time. The reservation is then written only once in a million stores. A
    /// restart skips at most one block, and 2^63 versions suffice for more restarts than there can be.
    static let blockSize: UInt64 = 1 << 20

    /// The next version.
    private(set) var next: UInt64
    /// The first version after the committed reservation.
    private(set) var reserved: UInt64

    /// - Parameter reserved: the reservation in the database. No version below it may be used again.
    init(reserved: UInt64) {
        next = reserved
        self.reserved = reserved
    }

    /// The result of ``allocate(_:)``.
    struct Allocation: Equatable {
        /// The first of the versions.
        let first: UInt64
        /// If not nil, the transaction that uses the versions must write this reservation too.
        let reservation: UInt64?
    }

    /// Allocates a number of consecutive versions. They are used up even if the transaction is rolled back.
    mutating func allocate(_ count: Int) -> Allocation {
        let first = next
        next += UInt64(count)  // fits: a count
        return Allocation(first: first, reservation: next > reserved ? next + Self.blockSize : nil)
    }

    /// Notes that the reservation was committed.
    mutating func committed(_ reservation: UInt64) {
        reserved = max(reserved, reservation)
    }
}
