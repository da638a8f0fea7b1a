import Matching

/// The limits of rehearsals, each with the reason for its value.
package enum RehearsalLimits {
    /// How many rehearsals may be active: one for each of the tests that run in parallel, and some more. Each request is
    /// compared with the rules of all.
    package static let active = 50
    /// The number of ended rehearsals that can still be read.
    package static let ended = 100
    /// A script of faults that a person can follow has a dozen rules.
    package static let rules = 50
    /// In bytes.
    package static let name = 100
    /// The time that a rehearsal is active if the document has none.
    package static let defaultLife = Duration.seconds(3600)
    /// A forgotten rehearsal ends within a day.
    package static let life = Duration.seconds(24 * 3600)
    /// Longer than any client waits for an answer.
    package static let delay = RequestFault.longest
    /// The largest number of deliveries of one notification.
    package static let duplicates = 100
    /// The greatest count in a condition, and of requests before a GOAWAY.
    package static let count: Int64 = 1_000_000_000
    /// What the gateway itself announces at most.
    package static let concurrentStreams: Int64 = 1000
}
