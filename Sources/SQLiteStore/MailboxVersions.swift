/// Counts the versions of mailboxes: always upwards, and never the same one twice, whatever crashes in between.
///
/// The database remembers only up to where versions may be in use, a block ahead, so that storing does not have to
/// write its version a second time. A restart goes on after the block.
struct MailboxVersions {
    /// How many versions are reserved at once. One write in a million stores is nothing, and 2^63 versions are enough
    /// for as many restarts as there are milliseconds in 250 years.
    static let blockSize: UInt64 = 1 << 20

    /// The next version to be given out.
    private(set) var next: UInt64
    /// The first version that is not reserved in what has been committed.
    private(set) var reserved: UInt64

    /// - Parameter reserved: what the database says: nothing below it may be given out.
    init(reserved: UInt64) {
        next = reserved
        self.reserved = reserved
    }

    /// What ``take(_:)`` gives.
    struct Taken: Equatable {
        /// The first of the versions taken.
        let first: UInt64
        /// Where set, the transaction that uses the versions must write this reservation as well.
        let reservation: UInt64?
    }

    /// Takes as many versions in a row. They are gone even when the transaction is rolled back.
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
