package import Notifications

/// A message, with the progress of sending it.
package struct MessageRecord: Sendable, Hashable {
    /// The store's number of the message; 0 for one that is not stored yet.
    package var number: Int64
    /// A UUID.
    package var id: String
    /// The number of the app.
    package var app: Int64
    package var state: State
    /// The document of the request. It was checked when the request arrived.
    package var document: [UInt8]
    package var created: Timestamp
    /// When sending begins.
    package var starts: Timestamp
    package var finished: Timestamp?
    package var position: Position
    /// The largest number of notifications a second; nil for no limit.
    package var rate: Int64?
    /// Why sending does not continue; nil if it continues.
    package var cause: String?
    /// How many recipients the message has; nil until they are counted.
    package var total: Int64?
    package var tally: Tally

    package enum State: String, Sendable, Hashable, CaseIterable {
        /// The start time is in the future.
        case scheduled
        case running
        case paused
        /// A request stopped the message. It cannot be resumed.
        case cancelled
        /// Every recipient has an outcome.
        case finished

        package var isOver: Bool { self == .cancelled || self == .finished }
        /// Whether it is sent now or later.
        package var isOpen: Bool { self == .scheduled || self == .running }
    }

    /// The progress of a message. Every recipient before this position has an outcome.
    package struct Position: Sendable, Hashable {
        /// The number of the last installation that existed when the message began. Later installations are no
        /// recipients. Nil until the message begins.
        package var last: Int64?
        /// The due time of the part that is being sent. With a local time, each group of time zones is a part.
        package var due = Timestamp(milliseconds: 0)
        package var environment = Environment.production
        /// The number of the last installation in order that has been dealt with.
        package var after: Int64 = 0

        package init() {}
    }

    /// The number of recipients with each outcome.
    package struct Tally: Sendable, Hashable {
        package var accepted: Int64 = 0
        /// The numbers of failures by reason.
        package var failed: [String: Int64] = [:]
        /// How many recipients opened the notification, as the app says.
        package var opened: Int64 = 0

        package var total: Int64 { failed.values.reduce(accepted, &+) }

        package init() {}
    }
}

extension MessageRecord {
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
        self.init(
            number: number, id: id, app: app, state: state, document: document, created: created, starts: starts,
            finished: nil, position: Position(), rate: rate, cause: nil, total: nil, tally: Tally())
    }
}

/// A message that this server holds, with the setting that another server may have changed.
package struct MessageHold: Sendable, Hashable {
    package var rate: Int64?

    package init(rate: Int64?) { self.rate = rate }
}

/// The outcome of one notification of a message.
package struct SendOutcome: Sendable, Hashable {
    /// The installation's number.
    package var installation: Int64
    /// The HTTP status of the service's answer; 0 if nothing was sent.
    package var status: Int
    /// The reason of a failure; nil if the service accepted the notification.
    package var reason: String?
    package var at: Timestamp
    /// When the app said that the notification was opened; nil if it did not.
    package var opened: Timestamp?
    /// The end of the device token if the status is 410: the time in the service's answer, or the present if the answer
    /// has none.
    package var endedAt: Timestamp?
    /// The device token that ended, in lower-case hexadecimal digits. If the installation has another one by now, it does
    /// not end. Nil for whichever the installation has.
    package var endedToken: String?
    /// Whose device token ended, if it is not the app's own. Then the installation goes on without it.
    package var endedPlace: ServiceTokens.Place?
    /// The environment in which the service accepted the device token, if it is not the installation's. The installation
    /// moves there. Nil if it stays where it is.
    package var movedTo: Environment?
    /// The device token that the service accepted there. If the installation has another one by now, it stays where it
    /// is. Nil for whichever the installation has.
    package var movedToken: String?
    /// By how much the notification changed the number on the app's icon; 0 if it did not count.
    package var badgeChange: Int64

    package init(
        installation: Int64,
        status: Int,
        reason: String?,
        at: Timestamp,
        endedAt: Timestamp? = nil,
        endedToken: String? = nil,
        endedPlace: ServiceTokens.Place? = nil,
        movedTo: Environment? = nil,
        movedToken: String? = nil,
        badgeChange: Int64 = 0,
    ) {
        self.installation = installation
        self.status = status
        self.reason = reason
        self.at = at
        self.endedAt = endedAt
        self.endedToken = endedToken
        self.endedPlace = endedPlace
        self.movedTo = movedTo
        self.movedToken = movedToken
        self.badgeChange = badgeChange
    }
}

/// One recipient of a message, in the order of the numbers.
package struct Recipient: Sendable, Hashable {
    package var number: Int64
    package var installation: Installation

    package init(number: Int64, installation: Installation) {
        self.number = number
        self.installation = installation
    }
}
