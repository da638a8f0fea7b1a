import Matching

/// The limits of rehearsals, each with the reason for its value.
package enum RehearsalLimits {
    /// The maximum number of active rehearsals: more than tests run in parallel. The limit is needed because each
    /// request is compared with the rules of all of them.
    package static let active = 50
    /// The same for a service for tests: a few of each of thousands of parallel tests. With so many, a request costs a
    /// millisecond more.
    package static let activeForTests = 10_000
    /// The number of ended rehearsals whose counts can still be read: those of tests that end at the same moment.
    package static let maximumEnded = 1000
    /// The maximum number of rules in a rehearsal. A script that a person can follow has about ten.
    package static let rules = 50
    /// The maximum length of a rule's name, in bytes.
    package static let name = 100
    /// How long a rehearsal is active if the document does not say.
    package static let defaultLife = Duration.seconds(3600)
    /// The longest time that a rehearsal may be active. A forgotten one ends within a day.
    package static let life = Duration.seconds(24 * 3600)
    /// The longest delay: longer than any client waits for an answer.
    package static let delay = RequestFault.longest
    /// The largest number of times that one notification may be delivered.
    package static let duplicates = 100
    /// The greatest number in a selection, and the greatest number of requests before a GOAWAY.
    package static let count: Int64 = 1_000_000_000
    /// The greatest number of concurrent streams. The service itself never allows more.
    package static let concurrentStreams: Int64 = 1000
}
