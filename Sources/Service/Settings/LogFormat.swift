/// The format of the service's log.
package enum LogFormat: String, Sendable, CaseIterable {
    /// For people: the time, the level, the message and its metadata. Under systemd the journal has the time, and gets the level.
    case text
    /// For programs: one JSON object on each line.
    case json
}
