/// The named bounds of the log's files, each with the reason for its value.
package struct DeliveryLogLimits: Sendable, Hashable {
    /// In bytes, all files together; the oldest go when there are more. Some ten million events.
    package var totalBytes = 1 << 30

    /// How long events are kept: a week, so that what happened on Friday can be looked up on Monday.
    package var retention = Duration.seconds(7 * 24 * 60 * 60)

    /// How many events may wait for the disk, if they fit into one block of ``LogBlock/maximumBytes``. Two thirds of a
    /// second at a hundred thousand a second, in some 2 MB; beyond it events are lost and counted.
    package var pendingEvents = 65_536

    package init() {}

    /// In how many parts the log is thrown away as it grows: a file for each.
    static let parts = 16

    /// In bytes: when a file is full.
    var segmentBytes: Int { max(64 * 1024, totalBytes / Self.parts) }

    /// How long a file is written to: it goes when its newest event is old enough, so its oldest waits that much longer.
    var segmentSpan: Duration { retention / (Self.parts * 2) }

    /// How long events are gathered before they are written. A person who looks does not notice, and a busy service
    /// writes a hundred times a second instead of a hundred thousand times.
    static let gathering = Duration.milliseconds(10)
}
