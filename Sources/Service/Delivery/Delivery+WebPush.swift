package import Notifications
package import Storage

// What the listener of Web Push calls.
extension Delivery {
    /// Accepts a message of Web Push, as ``submit(_:answers:)`` does with a notification, and with the same guarantees. It
    /// is rejected as Unregistered if the subscription has ended, and as TooManyRequests beyond the rate.
    /// - Parameters:
    ///   - subscription: as the store has returned it a moment ago.
    ///   - bundleID: the app's.
    ///   - timeToLive: the value of `TTL`, in seconds; see ``WebPushMessage/expiration(after:at:)``.
    ///   - ticket: the caller's number for the request.
    package func submit(
        _ message: WebPushMessage,
        _ id: NotificationID,
        to subscription: WebPushSubscription,
        of bundleID: BundleID,
        timeToLive: UInt64,
        ticket: UInt64,
        answers: any SubmissionAnswers,
    ) {
        let expiration = WebPushMessage.expiration(after: timeToLive, at: clock.machineTime)
        let notification = message.notification(id, for: bundleID, to: subscription, expiration: expiration)
        submit(
            [
                Submission(
                    destination: subscription.destination, deviceToken: nil, generation: subscription.generation,
                    notification: notification, ticket: ticket)
            ], answers: answers)
    }

    /// Withdraws a message that no device has acknowledged. It is not sent any more, unless it was sent already.
    /// - Returns: Whether it was there.
    package func withdraw(_ id: NotificationID, from destination: Destination) async throws(StoreError) -> Bool {
        guard destination.isSubscription, let version = try await mailboxes.withdraw(id, from: destination) else {
            return false
        }
        withdrawn(MailboxReference(destination: destination, version: version))
        return true
    }
}
