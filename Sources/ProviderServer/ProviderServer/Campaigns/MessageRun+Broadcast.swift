import APNSProvider
import CampaignStore
import Foundation
import Notifications
import Storage

// A message to a broadcast channel.
extension MessageRun {
    /// Sends a broadcast, which has one outcome, and stores it.
    func broadcast(to channel: String) async -> End {
        var (failures, passes) = (0, 0)
        while !control.isStopped {
            guard message.tally.total == 0 else { return .finished }
            guard control.isHeld else {
                await control.untilHeld()
                continue
            }
            let verdict = await broadcastOnce(to: channel, isLast: passes >= ProviderServerLimits.passes)
            switch verdict {
            case .final(let status, let reason, _):
                let outcome = SendOutcome(installation: 0, status: status, reason: reason, at: clock.now())
                return await record(outcome)
            case .refused(let cause): return .refused(cause: cause)
            case .again(let cause), .outage(let cause):
                failures += 1
                if case .again = verdict { passes += 1 }
                await wait(for: cause, failures)
            }
        }
        return .stopped
    }

    private func broadcastOnce(to channel: String, isLast: Bool) async -> SendVerdict {
        guard let app = apps.app(number: message.app) else { return .refused(cause: "The app was deleted.") }
        do {
            guard let client = try await clients.client(app, definition.audience.environment ?? .production) else {
                return .refused(cause: "The app has no such environment.")
            }
            let id = NotificationName.make(message: message.id, installation: 0)
            let broadcast = try definition.broadcast(id: id)
            do throws(ProviderError) {
                let receipt = try await client.broadcast(broadcast, to: channel, of: app.bundleID)
                return SendVerdict(.success(receipt), isLastPass: isLast)
            } catch {
                return SendVerdict(.failure(error), isLastPass: isLast)
            }
        } catch {
            return .refused(cause: "\(error)")
        }
    }

    private func record(_ outcome: SendOutcome) async -> End {
        var failures = 0
        while !control.isStopped {
            do throws(StoreError) {
                _ = try await store.record([outcome], of: message, position: message.position) { ended in
                    ProviderEvents.installationsEnded(ended, bundleID: "", message: message.id)
                }
                return .finished
            } catch {
                failures += 1
                await wait(for: error.cause, failures)
            }
        }
        return .stopped
    }
}
