import APNSProvider
import CampaignStore
import Connections
import Foundation
import Logging
import NIOCore
import Notifications
import Storage

/// Reads the feedback list of one app in one environment, and ends the installations whose device tokens are in it.
struct FeedbackReading: Sendable {
    let app: ProviderApp
    let environment: Environment
    let endpoint: ProviderApp.Endpoint
    let url: String
    let store: any CampaignStore
    let vault: CredentialVault
    let proxies: ProxyRules
    let clock: ProviderClock
    let logger: Logger
    let onNewEvent: @Sendable () -> Void

    /// Reads at once, and then once a day until the task is cancelled. After a failure, it reads again sooner.
    @concurrent func run() async {
        var failures = 0
        while !Task.isCancelled {
            do {
                let ended = try await read()
                failures = 0
                logger.info("The feedback service was read", metadata: metadata(["ended": "\(ended)"]))
            } catch {
                guard !Task.isCancelled else { return }
                failures += 1
                logger.warning("The feedback service was not read", metadata: metadata(["cause": "\(error)"]))
            }
            await clock.sleep(
                failures > 0
                    ? ProviderServerLimits.feedbackDelay.duration(afterFailures: failures)
                    : ProviderServerLimits.feedbackInterval)
        }
    }

    /// - Returns: How many installations ended.
    private func read() async throws -> Int {
        let place = try APNSEnvironment.custom(url: url, pem: endpoint.authority)
        let reader = FeedbackReader(
            environment: place, credentials: try vault.credentials(for: endpoint, of: app, environment),
            proxy: proxies.proxy(for: place.host, port: place.port))
        var items = try await reader.read()[...]
        var ended = 0
        while !items.isEmpty {
            let part = items.prefix(ProviderServerLimits.page)
            items = items.dropFirst(part.count)
            // fits: 32 bits
            ended += await end(part.map { ($0.deviceToken, Timestamp(seconds: UInt64($0.timestamp))) })
        }
        return ended
    }

    /// Ends installations. The service has removed the list that was read, so this is repeated until the store works or
    /// the server ends. A device token that is lost then is reported again after the next notification to it.
    private func end(_ tokens: [(token: String, endedAt: Timestamp)]) async -> Int {
        while true {
            do throws(StoreError) {
                let count = try await store.endInstallations(
                    app: app.number, environment: environment, tokens: tokens
                ) { [bundleID = app.bundleID] in
                    ProviderEvents.installationsEnded($0, bundleID: bundleID, message: nil)
                }
                if count > 0 { onNewEvent() }
                return count
            } catch {
                logger.warning("Ended installations cannot be stored", metadata: metadata(["cause": "\(error)"]))
                guard !Task.isCancelled else { return 0 }
                await clock.sleep(ProviderServerLimits.storeDelay)
            }
        }
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging(["app": "\(app.bundleID)", "environment": "\(environment.rawValue)"]) { $1 }
    }
}
