import Connections
import HTTP2
import NIOCore
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

/// What a connection holds beside its open requests because of its peer.
struct HeldBytes {
    /// As how much memory, in KiB, it counts among that of unknown senders.
    var weight = 0
    /// Since when it counts.
    var since = NIODeadline.uptimeNanoseconds(0)
}

extension AuthenticatingConnection {
    /// A client that nobody knows yet gets small buffers.
    func beginUntrusted(_ session: HTTP2Session) {
        if accepted.isStranger { session.writeBytes = ProviderLimits.strangerWriteBytes }
    }

    /// The client has shown whom it belongs to.
    func showedTrust() {
        releaseUntrusted(untrusted)
        guard accepted.isStranger else { return }
        accepted.showedTrust()
        session?.writeBytes = HTTP2Session.outputBytes
    }

    /// Counts what the connection holds beside its open requests, if nobody knows yet whom it belongs to. Ends the
    /// connection if that is too much, or for too long. Called after each batch, and once a second.
    func limitHeldBytes() {
        guard accepted.isStranger, let session else { return }
        let bytes = session.releaseMemoryAfterBatch()
        let counted = bytes - ProviderLimits.uncountedBytes
        guard counted > 0 || held.weight > 0 else { return }
        let weight = counted > 0 ? (counted + 1023) / 1024 : 0
        if held.weight == 0 { held.since = second }
        if weight < held.weight { releaseUntrusted(held.weight - weight) }
        let hasRoom = weight <= held.weight || admitUntrusted(weight: weight - held.weight)
        held.weight = hasRoom ? weight : held.weight
        if !hasRoom || bytes > ProviderLimits.strangerBytes {
            if hasRoom { provider.limitLog.limitExceeded(.untrustedRequests, peer: peer) }
            session.abort()
        } else if held.weight > 0, held.since + provider.limits.requestTimeout < second {
            provider.limitLog.limitExceeded(.requestTimeout, peer: peer)
            session.abort()
        }
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
