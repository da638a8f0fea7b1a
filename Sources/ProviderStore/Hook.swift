package import Notifications

/// An address of the organisation that hears of events.
package struct Hook: Sendable, Hashable {
    /// The store's number; 0 for one that is not stored yet.
    package var number: Int64
    package var id: String
    package var app: Int64
    package var url: String
    /// The key of its signatures, encrypted.
    package var sealedSecret: [UInt8]

    package init(number: Int64 = 0, id: String, app: Int64, url: String, sealedSecret: [UInt8]) {
        self.number = number
        self.id = id
        self.app = app
        self.url = url
        self.sealedSecret = sealedSecret
    }
}

/// Something that hooks hear of.
package struct ProviderEvent: Sendable, Hashable {
    /// Such as `message.finished`.
    package var kind: String
    /// JSON.
    package var body: [UInt8]

    package init(kind: String, body: [UInt8]) {
        self.kind = kind
        self.body = body
    }
}

/// An event on its way to one hook.
package struct HookDelivery: Sendable, Hashable {
    package var number: Int64
    /// Stays the same in every attempt, so that the receiver recognises a repetition.
    package var id: String
    package var hook: Hook
    package var event: ProviderEvent
    package var created: Timestamp
    package var attempts: Int64
    /// When to try again; nil if it arrived or was given up.
    package var next: Timestamp?
    /// The HTTP status of the last attempt; nil if there was no answer.
    package var status: Int64?
    /// Why the last attempt failed; nil if it did not.
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

/// An installation that ended because the service said so.
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
