import APNSProvider
import Foundation
import Notifications
import CampaignStore

/// The notifications of one pass. Each is made when the client has room for it.
struct RecipientSource: AsyncSequence, Sendable {
    typealias Element = Push

    let message: MessageRecord
    let definition: MessageDefinition
    let app: ProviderApp
    let query: RecipientQuery
    let store: any CampaignStore
    let ledger: OutcomeLedger
    /// Which of a recipient's device tokens gets the message; nil for the app's own.
    let place: ServiceTokens.Place?
    let control: RunControl
    let clock: ProviderClock

    /// How many recipients to read at once. With a rate, only those of a second: an installation that is deleted or changed
    /// later must not get the message as it was.
    private var pageSize: Int {
        guard let rate = control.rate else { return ProviderServerLimits.page }
        return Int(clamping: Swift.max(1, Swift.min(rate, Int64(ProviderServerLimits.page))))
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self, query: query) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: RecipientSource
        var query: RecipientQuery
        private var page: ArraySlice<Recipient> = []
        private var isAtEnd = false
        private var pace = Pace()

        init(source: RecipientSource, query: RecipientQuery) {
            self.source = source
            self.query = query
        }

        /// The service would refuse the device token with this reason.
        private static let badDeviceToken = PushRejection.Reason.badDeviceToken.rawValue

        mutating func next() async throws -> Push? {
            while let recipient = try await nextRecipient() {
                let id = NotificationName.make(message: source.message.id, installation: recipient.number)
                do {
                    guard let digits = recipient.installation.token(source.place) else {
                        source.ledger.failed(recipient, source.place?.failureReason ?? Self.badDeviceToken)
                        continue
                    }
                    guard let token = DeviceToken(digits) else {
                        source.ledger.failed(recipient, Self.badDeviceToken)
                        continue
                    }
                    let notification = try source.definition.notification(
                        for: recipient.installation, of: source.app.bundleID, id: id, message: source.message.id)
                    source.ledger.began(recipient, as: id)
                    return Push(notification, to: token)
                } catch let error as MissingValue {
                    // The message fails for this recipient only.
                    source.ledger.failed(recipient, "MissingValue: \(error.name)")
                } catch {
                    source.ledger.failed(recipient, "\(ProviderError.Code.badNotification)")
                }
            }
            return nil
        }

        private mutating func nextRecipient() async throws -> Recipient? {
            while true {
                guard !source.control.isStopped else { return nil }
                switch source.ledger.verdict {
                case .stop: return nil
                case .wait:
                    await source.control.sleep(for: .milliseconds(5))
                    continue
                case .goOn: break
                }
                if page.isEmpty, !isAtEnd {
                    let limit = source.pageSize
                    page = try await source.store.recipients(query, limit: limit)[...]
                    if let last = page.last { query.after = last.number }
                    isAtEnd = page.count < limit
                }
                guard !page.isEmpty else { return nil }
                guard source.control.isHeld else {
                    await source.control.untilHeld()
                    continue
                }
                guard let wait = pace.wait(source.control.rate, now: source.clock.now()) else { return page.popFirst() }
                await source.control.sleep(for: wait)
            }
        }
    }
}

extension ServiceTokens.Place {
    /// The failure's text for a recipient that has no such device token.
    var failureReason: String {
        switch self {
        case .service(let name): "NoDeviceToken: \(name)"
        case .activity: "NoDeviceToken: \(PushType.liveActivity.rawValue)"
        }
    }
}

/// Limits the notifications in each second, and spreads them evenly over it.
struct Pace: Sendable {
    /// The start of the present second, and the number of notifications allowed since then.
    private var second: Timestamp?
    private var count: Int64 = 0

    /// Counts a notification if it may be sent now.
    /// - Returns: the time to wait before the next call; nil if the notification may be sent now.
    mutating func wait(_ rate: Int64?, now: Timestamp) -> Duration? {
        guard let rate else { return nil }
        // fits: now is not earlier
        guard let begin = second, now >= begin, now.milliseconds - begin.milliseconds < 1000 else {
            (second, count) = (now, 1)
            return nil
        }
        // Allow a tenth of the rate in each 100 ms, so that the notifications of a second are not sent all at once.
        let elapsed = now.milliseconds - begin.milliseconds  // fits: now is not earlier
        // fits: elapsed is less than 1000, and the rate at most ProviderServerLimits.rate
        let allowed = max(1, rate * Int64(elapsed / 100 + 1) / 10)
        guard count >= allowed || count >= rate else {
            count += 1
            return nil
        }
        // fits: elapsed is less than 1000
        return .milliseconds(Int64(count >= rate ? 1000 - elapsed : 100 - elapsed % 100))
    }
}
