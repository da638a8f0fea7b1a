import Notifications

/// A Web Push subscription of an app on a device: an endpoint leads to it, and it has a queue of messages.
package struct WebPushSubscription: Sendable, Hashable {
    /// The app on the device, with the number of the subscription.
    package var destination: Destination
    /// Chosen by the app: ``nameBytes`` of UTF-8.
    package var name: String
    /// The random bytes from which the endpoint is made (`EndpointKey`). A subscription that is made again has others.
    package var seed: [UInt8]
    /// The hash of the endpoint.
    package var digest: [UInt8]
    /// The only key that may sign the tokens of senders (RFC 8292, 4): an uncompressed point on P-256, 65 bytes. Nil
    /// if anybody may send who has the endpoint.
    package var vapid: [UInt8]?
    /// Whether messages without encryption are accepted.
    package var isPlain: Bool
    /// The generation of the registration that the subscription belongs to.
    package var generation: UInt32

    package init(
        destination: Destination,
        name: String,
        seed: [UInt8],
        digest: [UInt8],
        vapid: [UInt8]? = nil,
        isPlain: Bool = false,
        generation: UInt32 = 0,
    ) {
        self.destination = destination
        self.name = name
        self.seed = seed
        self.digest = digest
        self.vapid = vapid
        self.isPlain = isPlain
        self.generation = generation
    }

    /// How long a name may be, in bytes of UTF-8: more than an account's address or a chat's identifier takes.
    package static let nameBytes = 1...100

    /// The one rule of names. They get into logs, variables of commands and terminals, so they have no control characters.
    package static func isName(_ name: String) -> Bool {
        nameBytes.contains(name.utf8.count) && !name.hasControlCharacters
    }

    /// What ``isName(_:)`` asks for, for a person.
    package static let nameRule =
        "a name of \(nameBytes.lowerBound) to \(nameBytes.upperBound) bytes of UTF-8 without control characters"

    /// The name that the last part of a path has.
    /// - Returns: nil if it is no name of a subscription.
    package static func name(inPath part: some StringProtocol) -> String? {
        part.percentDecoded.flatMap { String(validating: $0, as: UTF8.self) }.flatMap { isName($0) ? $0 : nil }
    }

    /// How many subscriptions an app may have on a device: one for each chat of a busy person. It bounds what a device
    /// costs on disk, with ``MailboxBound/subscription`` 125 MiB for each app.
    package static let maximumCount = 500
}
