/// The format of the service's log.
package enum LogFormat: String, Sendable, CaseIterable {
    /// For people: the time, the level, the message and its metadata. Under systemd, the time is left out and the
    /// level is passed to its journal, which shows both.
    case text
    /// For programs: one JSON object on each line.
    case json
}
