import Console
import Delivery
import Journal
import NIOCore
import Notifications
import Rates
import Synchronization
import Trust

/// The management API's operations: accounts (which replace Apple's developer account), the state of the service,
/// metrics and the delivery log.
package final class ManagementAPI: Sendable {
    let parts: ManagementParts
    let streams: StreamBudget
    /// What waits for clients that do not read their streams, of whatever kind.
    let backlog: Backlog
    let console = ConsoleSessions()
    /// Counts the requests over the network that show no key, and by themselves those that ask for the service's state: a
    /// flood of others must not let a supervisor believe that the service is dead.
    private let withoutKey = Mutex((others: RateBucket(), probes: RateBucket()))

    package init(_ parts: ManagementParts) {
        self.parts = parts
        streams = StreamBudget(limit: parts.limits.streams)
        backlog = parts.testing?.journal.backlog ?? Backlog()
    }

    var accounts: any Accounts { parts.accounts }
    var authority: CertificateAuthority { parts.authority }
    /// The time of the machine's clock, which certificates and clients use.
    var now: Timestamp { parts.clock.machineTime }

    /// Whether a request without a key is within their rate. All clients share it: on loopback they have one address.
    func admitsWithoutKey(path: String) -> Bool {
        let (now, rate) = (NIODeadline.now().uptimeNanoseconds, parts.limits.withoutKey)
        return withoutKey.withLock { buckets in
            ["/health", "/ready"].contains(path)
                ? buckets.probes.admits(rate, at: now) : buckets.others.admits(rate, at: now)
        }
    }

    /// Ends all streams. Streams that begin later end at once.
    func endStreams() {
        parts.log.signal.end()
        parts.testing?.journal.end()
    }
}
