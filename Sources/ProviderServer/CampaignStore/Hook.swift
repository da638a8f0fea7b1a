package import Notifications

/// An address of the organisation that receives events.
package struct Hook: Sendable, Hashable {
    /// The store's number; 0 for one that is not stored yet.
    package var number: Int64
    package var id: String
    package var app: Int64
    package var url: String
    /// The key that signs its requests, encrypted.
    package var sealedSecret: [UInt8]

    package init(number: Int64 = 0, id: String, app: Int64, url: String, sealedSecret: [UInt8]) {
        self.number = number
        self.id = id
        self.app = app
        self.url = url
        self.sealedSecret = sealedSecret
    }
}

/// An event that hooks receive.
package struct ProviderEvent: Sendable, Hashable {
    /// The type of the event, such as `message.finished`.
    package var kind: String
    /// The event as JSON.
    package var body: [UInt8]

    package init(kind: String, body: [UInt8]) {
        self.kind = kind
        self.body = body
    }
}

/// One event for one hook, with the result of the attempts to send it.
package struct HookDelivery: Sendable, Hashable {
    /// How many ended deliveries of a hook are kept for people to read.
    package static let keptDeliveries: Int64 = 1_000
    /// How many deliveries of a hook may wait. A campaign to a million installations makes some thousand in two minutes, and
    /// the receiver may be away for hours. If there are more, the oldest are given up.
    package static let waitingDeliveries: Int64 = 10_000
    /// Why a delivery was given up, if too many waited.
    package static let tooMany = "Too many events waited for this hook."

    package var number: Int64
    /// The identifier is the same in every attempt, so that the receiver recognises a repetition.
    package var id: String
    package var hook: Hook
    package var event: ProviderEvent
    package var created: Timestamp
    package var attempts: Int64
    /// The time of the next attempt; nil if the event arrived or the server gave up.
    package var next: Timestamp?
    /// The HTTP status of the last attempt; nil if there was no answer.
    package var status: Int64?
    /// Why the last attempt failed; nil if it succeeded.
    package var cause: String?

    package init(
        number: Int64,
        id: String,
        hook: Hook,
        event: ProviderEvent,
        created: Timestamp,
        attempts: Int64,
        next: Timestamp?,
        status: Int64?,
        cause: String?,
    ) {
        self.number = number
        self.id = id
        self.hook = hook
        self.event = event
        self.created = created
        self.attempts = attempts
        self.next = next
        self.status = status
        self.cause = cause
    }
}

/// An installation that ended because the service rejected its device token.
package struct EndedInstallation: Sendable, Hashable {
    package var id: String
    package var reason: String
    package var at: Timestamp

    package init(id: String, reason: String, at: Timestamp) {
        self.id = id
        self.reason = reason
        self.at = at
    }
}
