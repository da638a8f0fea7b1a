package import Notifications

/// The lists of device tokens whose app is gone (Guide, 3.1.3): one for each app in each environment, and in it one entry
/// for each device token.
///
/// An entry stands for a registration that has ended. It goes when its list was read, when the app registers again, and
/// when the store is full of newer ones.
package protocol Feedback: Sendable {
    /// Lists device tokens. Harmless for those that are listed already, and for those whose registration is active or
    /// has ended at another moment than the entry's, which changes nothing: each entry is listed at once with that look at
    /// the registration, so no app that is back stays on its list.
    func note(_ entries: [FeedbackEntry]) async throws(StoreError)

    /// What a list holds after the mark, oldest first. It stays there until it is confirmed.
    func take(_ list: FeedbackList, after mark: FeedbackMark?, limit: Int) async throws(StoreError) -> [TakenFeedback]

    /// Removes what a list held up to the mark, but for what was noted since it was taken.
    func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError)
}

/// Names a list.
package struct FeedbackList: Sendable, Hashable {
    package let environment: Environment
    package let app: AppID

    package init(environment: Environment, app: AppID) {
        self.environment = environment
        self.app = app
    }
}

/// A device token that reaches no app any more.
package struct FeedbackEntry: Sendable, Hashable {
    package let destination: Destination
    /// The generation of the device token.
    package let generation: UInt32
    package let token: DeviceToken
    /// Since when, as far as the service knows.
    package let moment: Timestamp

    package init(destination: Destination, generation: UInt32, token: DeviceToken, moment: Timestamp) {
        self.destination = destination
        self.generation = generation
        self.token = token
        self.moment = moment
    }

    /// Whether the registration says the same as the entry: that this generation of its token has ended, and when.
    package func agrees(with registration: Registration?) -> Bool {
        registration?.rejection(ofGeneration: generation)?.timestamp == moment.milliseconds
    }
}

/// A place in a list. Opaque, grows, is never used again.
package struct FeedbackMark: Sendable, Hashable, Comparable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (lhs: FeedbackMark, rhs: FeedbackMark) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// An entry as it stands in its list.
package struct TakenFeedback: Sendable, Hashable {
    package let mark: FeedbackMark
    package let token: DeviceToken
    package let moment: Timestamp

    package init(mark: FeedbackMark, token: DeviceToken, moment: Timestamp) {
        self.mark = mark
        self.token = token
        self.moment = moment
    }
}
