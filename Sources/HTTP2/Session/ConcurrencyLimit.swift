/// How many streams a client may have open, as far as it can know (RFC 9113, 5.1.2 and 6.5.3).
///
/// libnghttp2 is given the full number in every SETTINGS, because it resets streams over an announced number before the
/// client can know of it, and ends the connection for one after that. The smaller number is written into the frame on
/// its way out, and enforced here: a stream is over the limit only if it is over every number that the client may
/// still hold for valid.
struct ConcurrencyLimit: Sendable {
    /// SETTINGS on the way at once. A change of mind beyond that waits for an acknowledgement, so that an application
    /// that changes its mind all the time cannot fill the connection.
    static let maxUnacknowledged = 4

    /// The number that libnghttp2 enforces and that holds before the first acknowledgement.
    let full: Int
    /// Announcements submitted and not yet written out, oldest first.
    private var submitted: [Int] = []
    /// Announcements written out and not yet acknowledged, oldest first.
    private var sent: [Int] = []
    /// The number last acknowledged.
    private var acknowledged: Int
    /// An announcement that waits for room.
    private var waiting: Int?
    /// The number last announced, or about to be.
    private(set) var announced: Int
    /// What the client may hold for valid: the greatest of all the above that it has seen or may yet acknowledge.
    private(set) var current: Int

    init(full: Int) {
        self.full = max(0, full)
        acknowledged = self.full
        announced = self.full
        current = self.full
    }

    /// Takes a new number, and says whether SETTINGS are to be submitted for it now.
    mutating func announce(_ number: Int) -> Bool {
        announced = min(max(0, number), full)
        guard submitted.count + sent.count < Self.maxUnacknowledged else {
            waiting = announced
            return false
        }
        waiting = nil
        submitted.append(announced)
        return true
    }

    /// SETTINGS are being written out: the number to put into them.
    mutating func settingsSent() -> Int {
        guard !submitted.isEmpty else { return announced }
        let number = submitted.removeFirst()
        sent.append(number)
        update()
        return number
    }

    /// The client acknowledged its oldest unacknowledged SETTINGS. Says whether another announcement, which had to
    /// wait, is to be submitted now.
    mutating func settingsAcknowledged() -> Bool {
        guard !sent.isEmpty else { return false }
        acknowledged = sent.removeFirst()
        update()
        guard let number = waiting, number != (submitted.last ?? sent.last ?? acknowledged) else {
            waiting = nil
            return false
        }
        return announce(number)
    }

    /// Whether an announcement was not acknowledged yet.
    var isUnacknowledged: Bool { !submitted.isEmpty || !sent.isEmpty }

    /// Whether one more stream may be opened.
    func admits(openStreams: Int) -> Bool { openStreams < current }

    private mutating func update() {
        current = sent.reduce(acknowledged, max)
    }
}
