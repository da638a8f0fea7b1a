import APNSProvider
import Logging
import Notifications
import CampaignStore

/// Reads the feedback service once a day for each app and environment that has one: "query the feedback service daily"
/// (Guide, 3.1.3). Only the binary API has a feedback service, and only certificates open it.
actor FeedbackScheduler {
    private struct RunningReading {
        let endpoint: ProviderApp.Endpoint
        let task: Task<Void, Never>
    }

    private let store: any CampaignStore
    private let apps: AppDirectory
    private let vault: CredentialVault
    private let proxies: ProxyRules
    private let clock: ProviderClock
    private let logger: Logger
    /// Called when there is a new event for hooks.
    private let onNewEvent: @Sendable () -> Void
    private var readings: [AppEndpoint: RunningReading] = [:]
    private var isClosed = false
    private lazy var dueWork = DueWork(clock: clock) { [weak self] in await self?.runOnce() }

    init(
        _ store: any CampaignStore,
        _ apps: AppDirectory,
        _ vault: CredentialVault,
        proxies: ProxyRules = .none,
        clock: ProviderClock,
        logger: Logger,
        onNewEvent: @escaping @Sendable () -> Void,
    ) {
        self.store = store
        self.apps = apps
        self.vault = vault
        self.proxies = proxies
        self.clock = clock
        self.logger = logger
        self.onNewEvent = onNewEvent
    }

    /// Starts and stops reading for the present apps. Called when the server starts and when an app changes.
    func runDue() async { await dueWork.runDue() }

    /// - Returns: When to run again.
    private func runOnce() -> Timestamp? {
        guard !isClosed else { return nil }
        var wanted: [AppEndpoint: FeedbackReading] = [:]
        for app in apps.all {
            for (environment, endpoint) in app.endpoints {
                guard let url = endpoint.feedback else { continue }
                wanted[AppEndpoint(app: app.number, environment: environment)] = FeedbackReading(
                    app: app, environment: environment, endpoint: endpoint, url: url, store: store, vault: vault,
                    proxies: proxies, clock: clock, logger: logger, onNewEvent: onNewEvent)
            }
        }
        for (key, reading) in readings where wanted[key]?.endpoint != reading.endpoint {
            reading.task.cancel()
            readings[key] = nil
        }
        for (key, reading) in wanted where readings[key] == nil {
            readings[key] = RunningReading(endpoint: reading.endpoint, task: Task { await reading.run() })
        }
        // Other servers change apps too. ``CampaignScheduler`` reads the apps again as often as this looks at them.
        return store.isShared ? clock.now().advanced(by: ProviderServerLimits.sharedInterval) : nil
    }

    /// Stops reading, and waits until a list that was read is stored. The service has removed it from its own list.
    func shutDown() async {
        isClosed = true
        await dueWork.close()
        for reading in readings.values { reading.task.cancel() }
        for reading in readings.values { await reading.task.value }
        readings = [:]
    }
}
