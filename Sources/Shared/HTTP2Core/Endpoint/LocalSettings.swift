/// Our own settings: those in force, and those that the peer has not acknowledged (RFC 9113, 6.5.3).
struct LocalSettings {
    /// The most SETTINGS that may be unacknowledged. Later changes wait and are sent together.
    private static let maxUnacknowledged = 4

    /// The settings that the peer has acknowledged.
    private(set) var inForce = Settings()
    private var sent: [Settings] = []
    private var latest = Settings()
    private var isWaiting = false

    /// Whether SETTINGS are not acknowledged yet.
    var isUnacknowledged: Bool { !sent.isEmpty }

    /// The largest frame that the peer may send.
    var maxFrameBytes: Int { sent.reduce(inForce.maxFrameBytes) { max($0, $1.maxFrameBytes) } }

    /// The largest table that the peer's encoder may use.
    var headerTableBytes: Int { sent.reduce(inForce.headerTableBytes) { max($0, $1.headerTableBytes) } }

    /// The number of streams that the peer may open: the greatest of those that it may know. nil: no limit.
    var maxConcurrentStreams: Int? {
        sent.reduce(inForce.maxConcurrentStreams) { most, settings in
            guard let most, let streams = settings.maxConcurrentStreams else { return nil }
            return max(most, streams)
        }
    }

    /// Records the first SETTINGS.
    mutating func begin(_ settings: Settings) {
        latest = settings
        sent.append(settings)
    }

    /// Changes the number of streams. Returns whether SETTINGS have to be sent now.
    mutating func announce(concurrentStreams: Int) -> Bool {
        guard latest.maxConcurrentStreams != concurrentStreams else { return false }
        latest.maxConcurrentStreams = concurrentStreams
        guard sent.count < Self.maxUnacknowledged else {
            isWaiting = true
            return false
        }
        sent.append(latest)
        return true
    }

    /// The peer has acknowledged the oldest SETTINGS. Returns nil if there are none; otherwise whether a change that
    /// had to wait has to be sent now.
    mutating func acknowledged() -> (previous: Settings, sendsNow: Bool)? {
        guard !sent.isEmpty else { return nil }
        let previous = inForce
        inForce = sent.removeFirst()
        guard isWaiting else { return (previous, false) }
        isWaiting = false
        // The change was taken back meanwhile.
        guard latest != sent.last ?? inForce else { return (previous, false) }
        sent.append(latest)
        return (previous, true)
    }

    /// The number of the last announcement.
    var announcedConcurrentStreams: Int? { latest.maxConcurrentStreams }
}
