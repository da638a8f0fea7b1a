import NIOCore

/// A connection's place among those of its address, from being accepted to being closed.
package struct ConnectionAdmission {
    private let guardian: ConnectGuard?
    private let address: PeerAddress?

    /// - Throws: when the connection is one too many; closing it is the listener's answer.
    init(_ channel: any Channel, guardedBy guardian: ConnectGuard?) throws {
        guard let guardian, let address = PeerAddress(channel.remoteAddress) else {
            (self.guardian, self.address) = (nil, nil)
            return
        }
        let peer = channel.remoteAddress?.ipAddress ?? ""
        switch guardian.admit(address, at: .now()) {
        case .admitted: break
        case .tooManyConnects:
            guardian.log?.struck(guardian.rateLimit, peer: peer)
            throw TooManyConnections()
        case .tooManyOpen:
            guardian.log?.struck(.openConnections, peer: peer)
            throw TooManyConnections()
        case .outOfFiles:
            guardian.log?.struck(.openFiles, peer: peer)
            throw TooManyConnections()
        }
        (self.guardian, self.address) = (guardian, address)
        channel.closeFuture.whenComplete { _ in guardian.closed(address) }
    }

    /// The peer misbehaved: its further connects count double for a while.
    package func suspect() {
        if let guardian, let address { guardian.suspect(address, at: .now()) }
    }

    /// A limit struck the connection.
    /// - Parameter peer: its address.
    package func struck(_ limit: Limit, peer: String) { guardian?.log?.struck(limit, peer: peer) }

    private struct TooManyConnections: Error {}
}
