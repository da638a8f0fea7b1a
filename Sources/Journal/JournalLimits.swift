/// The bounds of the journal, each with the reason for its value.
package enum JournalLimits {
    /// The largest setting for the number of requests: a test run of some minutes at full load.
    package static let requests = 100_000

    /// The default number of requests with the store in memory, which tests use.
    package static let requestsInMemory = 10_000

    /// The largest size in bytes: 10,000 requests with the largest payload, and their headers. The oldest are removed
    /// first.
    package static let bytes = 64 << 20

    /// The number of connections without a request that are remembered, the newest. More of them tell a person nothing.
    static let unusedConnections = 1_000

    /// The size of an entry in bytes, without its headers and payload.
    static let entryBytes = 512

    /// The number of requests that a wait lists when it times out. A person reads no more.
    package static let nearest = 5

    /// The number of requests that a sample hands out at a time, four times a second: a person reads fewer, and a browser
    /// draws them without effort.
    package static let sampled = 50

    /// The number of requests whose later changes a sample still shows: as many as the console lists.
    static let sampleMemory = 10_000

    /// The number of requests by which a reader may be late before its stream ends.
    package static let followerBacklog = 10_000
}
