package import Rates

/// The named limits of the log's files, each with the reason for its value.
package struct DeliveryLogLimits: Sendable, Hashable {
    /// The size of all files together, in bytes: some ten million events. If there are more, the oldest file is
    /// removed.
    package var totalBytes = 1 << 30

    /// How long events are kept: a week, so that events of a Friday can still be looked up on Monday.
    package var retention = Duration.seconds(7 * 24 * 60 * 60)

    /// How many events may wait for the disk, if they fit into one block of ``LogBlock/maximumBytes``. These are the
    /// events of two thirds of a second at 100,000 events a second, and take some 2 MB. Further events are lost and
    /// counted.
    package var pendingEvents = 65_536

    package init() {}

    package static let settings: [LimitSetting<DeliveryLogLimits>] = [
        LimitSetting(
            "log-size", "MiB that the delivery log takes on the disk", 1...10_000_000, \.totalBytes, .mebibytes),
        LimitSetting(
            "log-retention", "days that events are kept in the delivery log", 1...3650, \.retention, .days),
    ]

    /// The number of files that the log is divided into. One file is removed at a time.
    static let parts = 16

    /// The size of one file in bytes. When a file has this size, the next one is begun.
    var segmentBytes: Int { max(64 * 1024, totalBytes / Self.parts) }

    /// How long one file is written to. A file is removed when its newest event is too old, so its oldest event may
    /// be older by this time.
    var segmentSpan: Duration { retention / (Self.parts * 2) }

    /// How long events are gathered before they are written. Nobody who watches the log notices the delay, and a busy
    /// service writes 100 times a second, not 100,000 times.
    static let gathering = Duration.milliseconds(10)
}
