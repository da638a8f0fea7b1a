package import Notifications
package import Storage

/// The lists of device tokens whose app was removed (Guide, 3.1.3): one list for each app in each environment, with
/// one entry for each device token.
///
/// An entry belongs to a registration that has ended. It is removed when its list was read, when the app registers
/// again, or when the store is full of newer entries.
package protocol Feedback: Sendable {
    /// Adds device tokens to their lists. An entry that is already listed changes nothing, and neither does one
    /// whose registration is active or ended at another time than the entry's. The registration is checked in the
    /// same step, so that no app that has registered again stays on its list.
    func record(_ entries: [FeedbackEntry]) async throws(StoreError)

    /// Returns the entries of a list after the mark, the oldest first. They stay in the list until they are
    /// confirmed.
    func entries(
        of list: FeedbackList, after mark: FeedbackMark?, limit: Int,
    ) async throws(StoreError) -> [ListedFeedback]

    /// Removes the entries of a list up to the mark, except those that were added again since they were read.
    func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError)
}

/// Identifies a list.
package struct FeedbackList: Sendable, Hashable {
    /// The largest number of entries of a list, or of all lists if a store counts them together: about 120 MB on disk. If there are
    /// more, the oldest are removed. A provider that reads its list once a day loses entries only if more than a million apps are
    /// removed within that day.
    package static let maximumEntries: Int64 = 1_000_000

    package let environment: Environment
    package let app: AppID

    package init(environment: Environment, app: AppID) {
        self.environment = environment
        self.app = app
    }
}

/// A device token that no longer reaches an app.
package struct FeedbackEntry: Sendable, Hashable {
    package let destination: Destination
    /// The generation of the device token, with its service (``TokenNumber``).
    package let generation: UInt32
    package let token: DeviceToken
    /// The time since when the token is inactive, as far as the service knows.
    package let moment: Timestamp

    package init(destination: Destination, generation: UInt32, token: DeviceToken, moment: Timestamp) {
        self.destination = destination
        self.generation = generation
        self.token = token
        self.moment = moment
    }

    /// Returns whether the registration agrees with the entry: this generation of its token has ended, at this time.
    package func agrees(with registration: Registration?) -> Bool {
        registration?.rejection(ofGeneration: generation)?.timestamp == moment.milliseconds
    }
}

/// A position in a list. It is opaque, grows, and is never used again.
package struct FeedbackMark: Sendable, Hashable, Comparable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (lhs: FeedbackMark, rhs: FeedbackMark) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// An entry that was read from a list.
package struct ListedFeedback: Sendable, Hashable {
    package let mark: FeedbackMark
    package let token: DeviceToken
    package let moment: Timestamp

    package init(mark: FeedbackMark, token: DeviceToken, moment: Timestamp) {
        self.mark = mark
        self.token = token
        self.moment = moment
    }
}
