#if Service
    /// The number of streams that a client may have open, as far as the client can know it (RFC 9113, 5.1.2 and 6.5.3).
    ///
    /// libnghttp2 gets the full number in every SETTINGS. With a smaller one it would reset streams before the client can
    /// know the number, and end the connection for one after that. The smaller number is written into the frame when it is
    /// sent, and enforced here: a stream exceeds the limit only if it exceeds every number that the client may still
    /// believe to be valid.
    struct ConcurrencyLimit: Sendable {
        /// The largest number of unacknowledged SETTINGS. Another change waits for an acknowledgement, so that an
        /// application that changes the number all the time cannot fill the connection.
        static let maxUnacknowledged = 4

        /// The number that libnghttp2 enforces and that holds before the first acknowledgement.
        let full: Int
        /// Announcements submitted and not yet written out, oldest first.
        private var submitted: [Int] = []
        /// Announcements written out and not yet acknowledged, oldest first.
        private var sent: [Int] = []
        /// The number last acknowledged.
        private var acknowledged: Int
        /// An announcement that waits because too many are unacknowledged.
        private var waiting: Int?
        /// The number last announced, or about to be.
        private(set) var announced: Int
        /// The number that the client may believe to be valid: the greatest of all above that it has seen or may still
        /// acknowledge.
        private(set) var current: Int

        init(full: Int) {
            self.full = max(0, full)
            acknowledged = self.full
            announced = self.full
            current = self.full
        }

        /// Sets a new number. Returns whether SETTINGS have to be submitted for it now.
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

        /// Called when SETTINGS are written. Returns the number for them.
        mutating func settingsSent() -> Int {
            guard !submitted.isEmpty else { return announced }
            let number = submitted.removeFirst()
            sent.append(number)
            update()
            return number
        }

        /// Records that the client has acknowledged its oldest unacknowledged SETTINGS. Returns whether an announcement
        /// that had to wait has to be submitted now.
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

        /// Whether an announcement is unacknowledged.
        var isUnacknowledged: Bool { !submitted.isEmpty || !sent.isEmpty }

        /// Whether one more stream may be opened.
        func admits(openStreams: Int) -> Bool { openStreams < current }

        private mutating func update() {
            current = sent.reduce(acknowledged, max)
        }
    }
#endif
