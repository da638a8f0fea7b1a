import Connections
import Delivery
import NIOCore
import Notifications
import Rates
import Synchronization

/// How often addresses and endpoints may be used. Each address has its own count, and each endpoint.
final class WebPushRates: Sendable {
    private let endpoints: Mutex<RateTable<[UInt8]>>
    private let addresses: Mutex<RateTable<PeerAddress>>
    private let guesses: Mutex<RateTable<PeerAddress>>
    private let relayTokens: Mutex<RateTable<[UInt8]>>
    private let relayAddresses: Mutex<RateTable<PeerAddress>>
    private let relayApps: Mutex<RateTable<AppID>>

    init(_ limits: WebPushLimits) {
        endpoints = Mutex(RateTable(limits.messagesPerEndpoint))
        addresses = Mutex(RateTable(limits.requestsPerAddress))
        guesses = Mutex(RateTable(limits.guessesPerAddress))
        relayTokens = Mutex(RateTable(limits.relayedPerToken))
        relayAddresses = Mutex(RateTable(limits.relayedPerAddress))
        relayApps = Mutex(RateTable(limits.relayedPerApp))
    }

    /// A limit that was exceeded.
    struct Excess: Sendable, Hashable {
        var limit: Limit
        /// When to try again, in seconds: 1 or more.
        var retryAfter: Int
    }

    /// Counts a request of an address. An address that has asked for too many endpoints that do not exist may send nothing.
    func excess(of address: PeerAddress, at now: Uptime) -> Excess? {
        let opens = guesses.withLock { $0.opens(address) }
        if opens > now.nanoseconds {
            return Excess(limit: .webPushGuessRate, retryAfter: RetryAfter.seconds(until: opens, from: now.nanoseconds))
        }
        return Self.excess(of: address, addresses, .webPushAddressRate, now)
    }

    /// Counts a request for an endpoint that does not exist.
    func countGuess(of address: PeerAddress, at now: Uptime) {
        guesses.withLock { _ = $0.admits(address, at: now.nanoseconds) }
    }

    /// Counts a message to an endpoint that exists.
    /// - Parameter digest: the hash of the endpoint.
    func excess(ofEndpoint digest: [UInt8], at now: Uptime) -> Excess? {
        Self.excess(of: digest, endpoints, .webPushEndpointRate, now)
    }

    /// Counts a message to a relay's URL.
    /// - Parameters:
    ///   - address: the sender's; nil if the system does not know it.
    ///   - token: a hash of the device token.
    func excess(ofRelay address: PeerAddress?, _ token: [UInt8], _ app: AppID, at now: Uptime) -> Excess? {
        if let address, let excess = Self.excess(of: address, relayAddresses, .webPushRelayAddressRate, now) {
            return excess
        }
        return Self.excess(of: token, relayTokens, .webPushRelayTokenRate, now)
            ?? Self.excess(of: app, relayApps, .webPushRelayAppRate, now)
    }

    private static func excess<Key>(
        of key: Key, _ table: borrowing Mutex<RateTable<Key>>, _ limit: Limit, _ now: Uptime
    ) -> Excess? {
        let now = now.nanoseconds
        return table.withLock { table in
            table.admits(key, at: now)
                ? nil : Excess(limit: limit, retryAfter: RetryAfter.seconds(until: table.opens(key), from: now))
        }
    }
}
