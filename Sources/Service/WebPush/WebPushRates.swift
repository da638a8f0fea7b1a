import Connections
import Delivery
import NIOCore
import Rates
import Synchronization

/// How often addresses and endpoints may be used. Each address has its own count, and each endpoint.
final class WebPushRates: Sendable {
    private let endpoints: Mutex<RateTable<[UInt8]>>
    private let addresses: Mutex<RateTable<PeerAddress>>
    private let guesses: Mutex<RateTable<PeerAddress>>

    init(_ limits: WebPushLimits) {
        endpoints = Mutex(RateTable(limits.messagesPerEndpoint))
        addresses = Mutex(RateTable(limits.requestsPerAddress))
        guesses = Mutex(RateTable(limits.guessesPerAddress))
    }

    /// A limit that was exceeded.
    struct Excess: Sendable, Hashable {
        var limit: Limit
        /// When to try again, in seconds: 1 or more.
        var retryAfter: Int
    }

    /// Counts a request of an address. An address that has asked for too many endpoints that do not exist may send nothing.
    func excess(of address: PeerAddress, at now: Uptime) -> Excess? {
        let now = now.nanoseconds
        let opens = guesses.withLock { $0.opens(address) }
        if opens > now { return Excess(limit: .webPushGuessRate, retryAfter: Self.seconds(until: opens, now)) }
        return addresses.withLock { table in
            table.admits(address, at: now)
                ? nil : Excess(limit: .webPushAddressRate, retryAfter: Self.seconds(until: table.opens(address), now))
        }
    }

    /// Counts a request for an endpoint that does not exist.
    func countGuess(of address: PeerAddress, at now: Uptime) {
        guesses.withLock { _ = $0.admits(address, at: now.nanoseconds) }
    }

    /// Counts a message to an endpoint that exists.
    /// - Parameter digest: the hash of the endpoint.
    func excess(ofEndpoint digest: [UInt8], at now: Uptime) -> Excess? {
        let now = now.nanoseconds
        return endpoints.withLock { table in
            table.admits(digest, at: now)
                ? nil : Excess(limit: .webPushEndpointRate, retryAfter: Self.seconds(until: table.opens(digest), now))
        }
    }

    private static func seconds(until opens: UInt64, _ now: UInt64) -> Int {
        let seconds = (opens - min(opens, now)) / 1_000_000_000
        return min(Int(clamping: seconds), .max - 1) + 1
    }
}
