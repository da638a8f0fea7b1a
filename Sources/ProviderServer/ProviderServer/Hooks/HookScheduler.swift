import APNSProvider
import AsyncHTTPClient
import CampaignStore
import Connections
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Notifications
import Storage

/// Sends events to the organisation's hooks, and tries again with a growing delay.
actor HookScheduler {
    private let store: any CampaignStore
    private let vault: CredentialVault
    private let proxies: ProxyRules
    private let clock: ProviderClock
    private let logger: Logger
    /// The HTTP clients, created at the first use: one for each proxy, and one without.
    private var clients: [HTTPProxy?: HTTPClient] = [:]
    /// The deliveries that are being sent, by their numbers.
    private var underWay: [Int64: (hook: Int64, task: Task<Void, Never>)] = [:]
    /// The deliveries that ended while `runOnce()` read the store. The data that it read about them is outdated.
    private var endedMeanwhile: Set<Int64> = []
    private var isClosed = false
    private lazy var dueWork = DueWork(clock: clock) { [weak self] in await self?.runOnce() }

    init(
        _ store: any CampaignStore,
        _ vault: CredentialVault,
        proxies: ProxyRules = .none,
        clock: ProviderClock,
        logger: Logger,
    ) {
        self.store = store
        self.proxies = proxies
        self.vault = vault
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter url: a hook's, whose form was checked when it was added.
    private func httpClient(for url: String) -> HTTPClient {
        let proxy = HookURL(url).flatMap { proxies.proxy(for: $0.host, port: $0.port) }
        if let client = clients[proxy] { return client }
        var configuration = HTTPClient.Configuration()
        // Do not follow redirections: they could lead into the organisation's own network.
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = ProviderServerLimits.hookTimeout
        // The proxy looks up the receiver's name.
        configuration.proxy = proxy.map { proxy in
            guard let authorization = proxy.authorization else { return .server(host: proxy.host, port: proxy.port) }
            return .server(
                host: proxy.host, port: proxy.port,
                authorization: .basic(credentials: String(authorization.dropFirst("Basic ".count))))
        }
        let made = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        clients[proxy] = made
        return made
    }

    /// Sends the events that are due. Called when the server starts and when there is a new event.
    func runDue() async { await dueWork.runDue() }

    /// - Returns: When to run again.
    private func runOnce() async -> Timestamp? {
        do throws(StoreError) {
            endedMeanwhile = []
            let now = clock.now()
            // Other servers add events too, and one of them may have been killed.
            var next = store.isShared ? now.advanced(by: ProviderServerLimits.sharedInterval) : nil
            for delivery in try await store.openDeliveries(limit: ProviderServerLimits.hookEventsAtOnce)
            where underWay[delivery.number] == nil && !endedMeanwhile.contains(delivery.number) && !isClosed {
                guard let due = delivery.next, due <= now else {
                    next = min(next ?? .distant, delivery.next ?? .distant)
                    continue
                }
                guard underWay.count < ProviderServerLimits.hooksAtOnce else { break }
                // A receiver that does not answer must not keep the others' events waiting.
                let busy = underWay.values.count { $0.hook == delivery.hook.number }
                guard busy < ProviderServerLimits.hookEventsAtOnce else { continue }
                underWay[delivery.number] = (delivery.hook.number, Task { await send(delivery) })
            }
            return next
        } catch {
            logger.warning("The events for hooks cannot be read", metadata: ["cause": "\(error)"])
            return clock.now().advanced(by: ProviderServerLimits.storeDelay)
        }
    }

    private func send(_ delivery: HookDelivery) async {
        do throws(StoreError) {
            // Another server may have sent it since it was read.
            if let body = try await store.hold(delivery, for: ProviderServerLimits.hookHold) {
                var delivery = delivery
                delivery.event.body = body
                await keep(await attempted(delivery))
            }
        } catch {
            logger.warning("An event cannot be read", metadata: ["cause": "\(error)"])
            await clock.sleep(ProviderServerLimits.storeDelay)
        }
        underWay[delivery.number] = nil
        endedMeanwhile.insert(delivery.number)
        await runDue()
    }

    /// Stores the result of an attempt. While the store fails, repeats only this: the receiver must not get the event again
    /// and again.
    private func keep(_ delivery: HookDelivery) async {
        while true {
            do throws(StoreError) {
                return try await store.record(delivery)
            } catch {
                logger.warning("The outcome of an event cannot be kept", metadata: ["cause": "\(error)"])
                // After the next start the event is sent again, with the same identifier.
                guard !isClosed else { return }
                await clock.sleep(ProviderServerLimits.storeDelay)
            }
        }
    }

    /// Sends an event, and returns the delivery with the result.
    private func attempted(_ delivery: HookDelivery) async -> HookDelivery {
        let result = await attempt(delivery)
        var changed = delivery
        changed.attempts += 1
        changed.status = result.status.map(Int64.init)  // fits: a status of three digits
        changed.cause = result.cause
        changed.next = nil
        ProviderServerMetrics.countHook(isDelivered: result.cause == nil)
        if result.cause != nil {
            if changed.attempts < ProviderServerLimits.hookAttempts {
                let delay = ProviderServerLimits.hookDelay
                    .duration(afterFailures: Int(clamping: changed.attempts))
                changed.next = clock.now().advanced(by: delay)
            } else {
                logger.warning(
                    "An event was given up",
                    metadata: [
                        "hook": "\(delivery.hook.id)", "event": "\(delivery.id)", "cause": "\(result.cause ?? "")",
                    ])
            }
        }
        return changed
    }

    private func attempt(_ delivery: HookDelivery) async -> (status: UInt?, cause: String?) {
        do {
            let name = CredentialVault.hookName(delivery.hook.id)
            guard case .hookSecret(let text) = try vault.open(delivery.hook.sealedSecret, name: name),
                let secret = HookSecret(text)
            else { return (nil, "The hook's secret cannot be decrypted.") }
            var request = HTTPClientRequest(url: delivery.hook.url)
            request.method = .POST
            request.headers.add(name: "content-type", value: "application/json")
            for (name, value) in secret.headers(id: delivery.id, at: clock.now(), delivery.event.body) {
                request.headers.add(name: name, value: value)
            }
            request.body = .bytes(delivery.event.body)
            let response = try await httpClient(for: delivery.hook.url).execute(
                request, timeout: ProviderServerLimits.hookTimeout)
            let isTaken = (200..<300).contains(response.status.code)
            return (response.status.code, isTaken ? nil : "The receiver answered \(response.status.code).")
        } catch {
            return (nil, (error as? HTTPClientError)?.shortDescription ?? "\(error)")
        }
    }

    /// Stops sending, and waits for the attempts under way. An attempt whose outcome is not stored is repeated after
    /// the next start.
    func shutDown() async {
        isClosed = true
        await dueWork.close()
        for delivery in underWay.values { await delivery.task.value }
        // This fails only if the client was shut down before.
        for client in clients.values { try? await client.shutdown() }
    }
}
