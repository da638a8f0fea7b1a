import Connections
import Synchronization

// Bounds what connections hold together before they have shown whom they belong to.
extension AuthenticatingConnection {
    /// Counts a request that begins.
    /// - Parameter weight: the memory that the request may take, in KiB.
    /// - Returns: Whether there is room for it.
    func admitUntrusted(weight: Int) -> Bool {
        guard !trust.isShown else { return true }
        let count = provider.untrustedRequests.add(weight, ordering: .relaxed).newValue
        guard count <= provider.limits.untrustedRequests else {
            provider.untrustedRequests.subtract(weight, ordering: .relaxed)
            provider.limitLog.limitExceeded(.untrustedRequests, peer: peer)
            return false
        }
        untrusted += weight
        return true
    }

    /// Stops counting requests of this connection: one that has ended, or all, because it has shown whom it belongs to or
    /// is over.
    func releaseUntrusted(_ weight: Int) {
        guard untrusted > 0 else { return }
        let released = min(weight, untrusted)
        untrusted -= released
        provider.untrustedRequests.subtract(released, ordering: .relaxed)
    }
}
