/// The limits of the journal, each with the reason for its value.
package enum JournalLimits {
    /// The largest allowed setting: as many requests as a test run of some minutes at full load sends.
    package static let requests = 100_000

    /// The number of requests to keep by default in a service for tests: its store is in memory, or it accepts unknown teams.
    package static let requestsForTests = 10_000

    /// The largest size of the journal in bytes: enough for 10,000 requests with the largest payload and their
    /// headers. When it is exceeded, the oldest requests are removed.
    package static let bytes = 64 << 20

    /// The number of connections without a request to remember. The newest are kept; more of them would tell a person
    /// nothing new.
    static let unusedConnections = 1_000

    /// The number of connections whose unprocessed requests are remembered. Each has at most a thousand numbers. The newest
    /// are kept.
    static let unprocessedConnections = 200

    /// The number of teams for which the journal remembers the newest removed request. If there are more, it
    /// remembers only the newest one of all teams. Each test may make a team, and more tests than this rarely run
    /// between the end of a connection and the report on it.
    static let forgottenTeams = 1_000

    /// The number of TLS handshakes that failed or that a rehearsal disturbed to remember for the report. The newest are
    /// kept; more of them would tell a person nothing new.
    static let handshakes = 1_000

    /// The size of an entry in bytes, without its headers and payload: its values, their places in the queue and in the
    /// table of notifications, both of which may be half empty, and the blocks of its identifiers and its token.
    static let entryBytes = 2 * MemoryLayout<JournalEntry>.stride + 640

    /// The number of requests that are copied while the journal's lock is held, in some tens of microseconds.
    static let page = 256

    /// When a wait times out, the number of similar requests that the answer lists, and of failed connections. A person
    /// does not read more.
    package static let maximumNearest = 5

    /// The largest number of requests in a sample's batch, of which there are four a second. A person cannot read
    /// more, and a browser draws them without effort.
    package static let maximumSampled = 50

    /// The number of shown requests whose later changes a sample still reports: as many as the console's list keeps.
    static let sampleMemory = 10_000

    /// The size in bytes of what may wait for all slow readers together. Beyond it, the streams of those end for whom the
    /// most waits. All of a full journal may wait for a new reader, and as much again may arrive while it reads.
    static let backlogBytes = 2 * bytes

    /// The number of requests that may wait for a slow reader. Beyond it, the reader's stream ends.
    package static let followerBacklog = 10_000
}
