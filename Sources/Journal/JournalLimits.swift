/// The bounds of the journal, each with the reason for its value.
package enum JournalLimits {
    /// How many requests a journal may be asked to keep: a test run of some minutes at full load.
    package static let requests = 100_000

    /// How many are kept with the store in memory, which is what tests use, if nobody says otherwise.
    package static let requestsInMemory = 10_000

    /// In bytes: 10,000 requests with the largest payload, and their headers. The oldest go first.
    package static let bytes = 64 << 20

    /// In bytes: what an entry takes beside its headers and its payload.
    static let entryBytes = 512

    /// How many requests a time-out names: a person reads no more.
    package static let nearest = 5

    /// How many requests a reader who follows may be behind before its stream ends.
    package static let followerBacklog = 10_000
}
