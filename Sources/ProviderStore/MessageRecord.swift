package import Notifications

/// A message and how far it has been sent.
package struct MessageRecord: Sendable, Hashable {
    /// The store's number of the message; 0 for one that is not stored yet.
    package var number: Int64
    /// A UUID.
    package var id: String
    /// The number of the app.
    package var app: Int64
    package var state: State
    /// The request's document, which was checked.
    package var document: [UInt8]
    package var created: Timestamp
    /// When sending begins.
    package var starts: Timestamp
    package var finished: Timestamp?
    package var position: Position
    /// The largest number of notifications a second; nil for no limit.
    package var rate: Int64?
    /// Why it does not go on; nil if it does.
    package var cause: String?
    package var tally: Tally

    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Its time has not come.
        case scheduled
        case running
        case paused
        /// It was stopped, and will never go on.
        case cancelled
        /// Every recipient has an outcome.
        case finished

        package var isOver: Bool { self == .cancelled || self == .finished }
    }

    package init(
        number: Int64 = 0,
        id: String,
        app: Int64,
        state: State,
        document: [UInt8],
        created: Timestamp,
        starts: Timestamp,
        rate: Int64?,
    ) {
        self.number = number
        self.id = id
        self.app = app
        self.state = state
        self.document = document
        self.created = created
        self.starts = starts
        self.rate = rate
        position = Position()
        tally = Tally()
    }

    /// Everybody before this place in the order of the message has an outcome.
    package struct Position: Sendable, Hashable {
        /// The last installation that may be a recipient: later ones registered after the message began. Nil until
        /// it begins.
        package var last: Int64?
        /// The time that those who are being sent to were to get it at.
        package var due = Timestamp(milliseconds: 0)
        package var environment = Environment.development
        /// The number of an installation. It and those before it are done.
        package var after: Int64 = 0

        package init() {}
    }

    /// How many recipients have which outcome.
    package struct Tally: Sendable, Hashable {
        package var accepted: Int64 = 0
        /// By reason.
        package var failed: [String: Int64] = [:]

        package var total: Int64 { failed.values.reduce(accepted, &+) }

        package init() {}
    }
}

/// What came of one notification of a message.
package struct SendOutcome: Sendable, Hashable {
    /// The number of the installation.
    package var installation: Int64
    /// The HTTP status of the service's answer; 0 if nothing was sent.
    package var status: Int
    /// Nil if the service accepted the notification.
    package var reason: String?
    package var at: Timestamp
    /// With status 410, the time at which the service knew the device token to be invalid, or now if it did not say.
    package var endedAt: Timestamp?

    package init(
        installation: Int64,
        status: Int,
        reason: String?,
        at: Timestamp,
        endedAt: Timestamp? = nil,
    ) {
        self.installation = installation
        self.status = status
        self.reason = reason
        self.at = at
        self.endedAt = endedAt
    }
}

/// One recipient of a message, as its page lists it.
package struct Recipient: Sendable, Hashable {
    package var number: Int64
    package var installation: Installation

    package init(number: Int64, installation: Installation) {
        self.number = number
        self.installation = installation
    }
}
