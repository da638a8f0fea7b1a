import Matching

/// The limits of rehearsals, each with the reason for its value.
package enum RehearsalLimits {
    /// How many rehearsals may be active: more than the tests that run in parallel. Each request is compared with all
    /// their rules.
    package static let active = 50
    /// The number of ended rehearsals that can still be read.
    package static let ended = 100
    /// How many rules a rehearsal may have. A script that a person can follow has a dozen.
    package static let rules = 50
    /// The length of a rule's name, in bytes.
    package static let name = 100
    /// The time that a rehearsal is active if the document has none.
    package static let defaultLife = Duration.seconds(3600)
    /// The longest time that a rehearsal may be active, so that a forgotten one ends within a day.
    package static let life = Duration.seconds(24 * 3600)
    /// The longest delay: longer than any client waits for an answer.
    package static let delay = RequestFault.longest
    /// The largest number of deliveries of one notification.
    package static let duplicates = 100
    /// The greatest number in a condition, and the most requests before a GOAWAY.
    package static let count: Int64 = 1_000_000_000
    /// The greatest number of streams: the gateway itself announces no more.
    package static let concurrentStreams: Int64 = 1000
}
