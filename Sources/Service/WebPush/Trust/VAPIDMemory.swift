import DequeModule
package import Trust

/// The tokens that were verified, so that each is verified once and not for each message.
///
/// Anybody makes valid tokens by the million. So the memory is limited, and each endpoint may fill only a small part of it: who
/// knows one endpoint cannot make the service forget what others have shown.
package struct VAPIDMemory<Endpoint: Hashable & Sendable>: Sendable {
    private struct Entry {
        var verified: VerifiedVAPID
        /// The endpoint with which the token came first.
        var endpoint: Endpoint
        var number: UInt64
    }

    private let capacity: Int
    private let capacityOfEndpoint: Int
    private var entries: [VAPIDCredential.Digest: Entry] = [:]
    /// The oldest first. Some of them are forgotten already: their numbers are in no entry.
    private var order: Deque<(token: VAPIDCredential.Digest, number: UInt64)> = []
    /// The tokens that came first with an endpoint, the oldest first.
    private var ofEndpoints: [Endpoint: [VAPIDCredential.Digest]] = [:]
    private var last: UInt64 = 0

    /// - Parameters:
    ///   - capacity: how many are remembered, 1 or more.
    ///   - capacityOfEndpoint: how many of them may have come first with the same endpoint, 1 or more.
    package init(
        capacity: Int = WebPushLimits.rememberedTokens,
        capacityOfEndpoint: Int = WebPushLimits.rememberedTokensOfEndpoint,
    ) {
        (self.capacity, self.capacityOfEndpoint) = (max(1, capacity), max(1, capacityOfEndpoint))
    }

    /// The number of remembered tokens.
    package var count: Int { entries.count }

    /// The contents of a token that was verified with this key before; nil if it has to be verified. Its times have to be
    /// checked at each use (``VerifiedVAPID/check(now:)``).
    package func recall(_ token: VAPIDCredential.Digest) -> VerifiedVAPID? { entries[token]?.verified }

    /// Remembers a token that came with an endpoint. Forgets the oldest if there is no room.
    package mutating func remember(_ token: VAPIDCredential.Digest, as verified: VerifiedVAPID, of endpoint: Endpoint) {
        guard entries[token] == nil else { return }
        if let own = ofEndpoints[endpoint], own.count >= capacityOfEndpoint, let oldest = own.first { forget(oldest) }
        while entries.count >= capacity, let oldest = order.popFirst() {
            if entries[oldest.token]?.number == oldest.number { forget(oldest.token) }
        }
        last += 1
        entries[token] = Entry(verified: verified, endpoint: endpoint, number: last)
        order.append((token, last))
        ofEndpoints[endpoint, default: []].append(token)
        // Those that an endpoint's own bound has forgotten stay in the order. Remove them now and then.
        guard order.count > 2 * capacity else { return }
        order = Deque(order.filter { entries[$0.token]?.number == $0.number })
    }

    private mutating func forget(_ token: VAPIDCredential.Digest) {
        guard let entry = entries.removeValue(forKey: token) else { return }
        ofEndpoints[entry.endpoint]?.removeAll { $0 == token }
        if ofEndpoints[entry.endpoint]?.isEmpty == true { ofEndpoints[entry.endpoint] = nil }
    }
}
