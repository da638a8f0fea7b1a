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
    let streams = StreamBudget()
    let console = ConsoleSessions()
    /// Counts the requests over the network that show no key.
    private let withoutKey = Mutex(RateBucket())

    package init(_ parts: ManagementParts) { self.parts = parts }

    var accounts: any Accounts { parts.accounts }
    var authority: CertificateAuthority { parts.authority }
    /// The time of the machine's clock, which certificates and clients use.
    var now: Timestamp { parts.clock.machineTime }

    /// Whether a request without a key is within their rate. All clients share it: on loopback they have one address.
    func admitsWithoutKey() -> Bool {
        withoutKey.withLock {
            $0.admits(parts.withoutKey, at: NIODeadline.now().uptimeNanoseconds)
        }
    }

    /// Ends all streams. Streams that begin later end at once.
    func endStreams() {
        parts.log.signal.end()
        parts.testing?.journal.end()
    }
}
