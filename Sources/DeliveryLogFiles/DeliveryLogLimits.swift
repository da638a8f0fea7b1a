/// The named bounds of the log's files, each with the reason for its value.
package struct DeliveryLogLimits: Sendable, Hashable {
    /// The size of all files together, in bytes: some ten million events. Beyond it the oldest file is removed.
    package var totalBytes = 1 << 30

    /// How long events are kept: a week, so that what happened on Friday can be looked up on Monday.
    package var retention = Duration.seconds(7 * 24 * 60 * 60)

    /// How many events may wait for the disk, if they fit into one block of ``LogBlock/maximumBytes``. This is two
    /// thirds of a second at 100,000 events a second, in some 2 MB. Beyond it events are lost and counted.
    package var pendingEvents = 65_536

    package init() {}

    /// The number of files that the log is divided into. One file is removed at a time.
    static let parts = 16

    /// The size of one file, in bytes, at which the next one begins.
    var segmentBytes: Int { max(64 * 1024, totalBytes / Self.parts) }

    /// How long one file is written to. A file is removed when its newest event is too old, so its oldest event is kept
    /// longer by this time.
    var segmentSpan: Duration { retention / (Self.parts * 2) }

    /// How long events are gathered before they are written. Nobody who watches the log notices the delay, and a busy
    /// service writes 100 times a second instead of 100,000 times.
    static let gathering = Duration.milliseconds(10)
}
