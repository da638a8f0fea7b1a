package import Notifications
package import Storage

/// Notifications that could not be forwarded, and are kept until they can (docs/gateway.md). The client was told 200.
package protocol HeldPushes: Sendable {
    /// Keeps a notification. When this returns, it is on disk.
    /// - Throws: ``StoreError/Code/conflict`` if there are already ``HeldLimits/maximumCount``.
    func hold(_ push: HeldPush) async throws(StoreError)

    /// Returns the apps that have notifications to send: neither expired nor claimed.
    func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace]

    /// Claims notifications of an app, the oldest first. Until `end` nobody else gets them.
    func claimHeld(
        of place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush]

    /// Gives notifications back that were claimed and could not be sent.
    func giveBackHeld(_ numbers: [Int64]) async throws(StoreError)

    /// Removes notifications that were sent.
    func removeHeld(_ numbers: [Int64]) async throws(StoreError)

    /// Removes notifications that have expired, at most `limit`.
    /// - Returns: the removed ones.
    func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush]
}

/// Held notifications that release 0.2.0 has stored in clear. Its nodes still do while a cluster is upgraded.
package protocol ClearHeldPushes: Sendable {
    /// Claims notifications, the oldest first. Until `end` nobody else gets them, nodes of that release neither.
    func claimClearHeld(
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush]

    /// Puts encrypted notifications in the place of those with the same numbers.
    func replaceClearHeld(_ pushes: [HeldPush]) async throws(StoreError)

    /// Overwrites what notifications in clear have left in the store's files, as far as the store can. Called at the start,
    /// after all of them were replaced. It does nothing if there never were any, or if it has done so before.
    func overwriteClearHeld() async throws(StoreError)
}

/// A notification that an upstream has not taken yet. In the store its device token and its payload are encrypted.
package struct HeldPush: Sendable, Hashable {
    /// The store's number; 0 before it is stored.
    package let number: Int64
    package let place: UpstreamPlace
    /// When it is no longer sent.
    package let expires: Timestamp
    /// Until when somebody is sending it.
    package let taken: Timestamp
    package let deviceToken: [UInt8]
    package let payload: [UInt8]
    package let headers: Headers

    package struct Headers: Sendable, Hashable, Codable {
        package var id: String
        package var topic: String?
        package var expiration: String?
        package var priority: String?
        package var collapseID: String?
        package var pushType: String?
        package var share: String
        package var via: String
        /// The handle to which a grant has sent; nil if no grant has sent it.
        package var handle: String?
    }

    package init(
        number: Int64,
        place: UpstreamPlace,
        expires: Timestamp,
        taken: Timestamp,
        deviceToken: [UInt8],
        payload: [UInt8],
        headers: Headers,
    ) {
        self.number = number
        self.place = place
        self.expires = expires
        self.taken = taken
        self.deviceToken = deviceToken
        self.payload = payload
        self.headers = headers
    }

    /// - Parameter handle: the handle to which a grant has sent; nil if no grant has sent it.
    package init(_ push: ForwardedPush, of place: UpstreamPlace, handle: Handle? = nil, expires: Timestamp) {
        self.init(
            number: 0, place: place, expires: expires, taken: Timestamp(milliseconds: 0),
            deviceToken: push.deviceToken, payload: push.payload,
            headers: Headers(
                id: push.id, topic: push.topic, expiration: push.expiration, priority: push.priority,
                collapseID: push.collapseID, pushType: push.pushType, share: push.share.rawValue, via: push.via,
                handle: handle?.description))
    }

    /// The notification as it was to be forwarded.
    package var push: ForwardedPush {
        var push = ForwardedPush(
            deviceToken: deviceToken, topic: headers.topic, id: headers.id, payload: payload,
            share: ForwardingShare(rawValue: headers.share), via: headers.via)
        push.expiration = headers.expiration
        push.priority = headers.priority
        push.collapseID = headers.collapseID
        push.pushType = headers.pushType
        return push
    }

    /// The grant that has sent it; nil if a team has.
    package var grant: GrantID? { GrantID(rawValue: headers.share) }

    /// The handle to which a grant has sent; nil if a team has sent it.
    package var handle: Handle? { headers.handle.flatMap { Handle($0) } }

    /// The subject of its events in the delivery log. It has the address of the request, so a grant's has the handle.
    package var subject: NotificationSubject {
        NotificationSubject(
            id: NotificationID(headers.id) ?? NotificationID(high: 0, low: 0),
            address: .deviceToken(handle?.bytes ?? deviceToken),
            topic: headers.topic ?? "")
    }
}

package enum HeldLimits {
    /// The largest number of held notifications of a service. With payloads of 4 KB they take 400 MB of the store.
    package static let maximumCount: Int64 = 100_000
    /// How many notifications are sent at once when an upstream is back.
    package static let batch = 100
    /// How long a node has for sending those that it took. It is longer than ``ForwardingLimits/answerTime``, so that no
    /// other node sends them too. After this time those come again that the upstream did not take, and those of suspended
    /// grants.
    package static let sendTime = Duration.seconds(60)
    /// How long a node waits before it shows its key again to an upstream that has refused it, unless the upstream is changed.
    /// Each attempt is in the delivery log, and the upstream may count refused provider tokens.
    package static let refusedTime = Duration.seconds(5)
    /// How often a node looks for notifications to send.
    package static let interval = Duration.seconds(1)
    /// After how many of these intervals a node without upstreams looks for notifications that have expired: once a minute.
    package static let intervalsWithoutUpstream = 60
}

extension StoreError {
    package static let tooManyHeld = StoreError(
        .conflict, "\(HeldLimits.maximumCount) notifications are held; wait until the upstream can be reached.")
}
