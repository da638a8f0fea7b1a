import Connections
import HTTP2
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

extension ProviderConnection {
    /// Counts what has come of an unknown sender's request since it was last counted, or refuses the request.
    /// - Returns: Whether there is room for it.
    @discardableResult
    func admitUntrusted(_ request: ProviderRequest, _ stream: StreamID) -> Bool {
        let bytes = ProviderLimits.requestBytes + request.headerBytes + request.received
        let weight = (bytes + 1023) / 1024
        let more = weight - request.untrustedWeight
        guard more > 0 else { return true }
        guard admitUntrusted(weight: more) else {
            session?.reset(stream, .refusedStream)
            return false
        }
        request.untrustedWeight = weight
        return true
    }
}
