import Delivery
import Journal
import Notifications
import Trust

/// What the management API is about: the accounts (the local stand-in for the developer account), the state of the service,
/// its metrics and its delivery log.
package final class ManagementAPI: Sendable {
    let parts: ManagementParts
    let streams = StreamBudget()
    let console = ConsoleSessions()

    package init(_ parts: ManagementParts) { self.parts = parts }

    var accounts: any Accounts { parts.accounts }
    var authority: CertificateAuthority { parts.authority }
    /// By the machine's clock, as certificates and clients count it.
    var now: Timestamp { parts.clock.machineTime }

    /// Ends the answers that have no end of their own; none begins from now on.
    func endStreams() {
        parts.log.signal.end()
        parts.testing?.journal.end()
    }
}
