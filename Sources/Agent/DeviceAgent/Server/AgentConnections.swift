import NIOCore
import NIOPosix
import Synchronization

/// The open connections, and how many each Unix user has, so that one cannot take all of them.
final class AgentConnections: Sendable {
    private struct State {
        var counts: [UInt32: Int] = [:]
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    /// The client may not have another connection, or the system does not know who it is.
    struct Refused: Error {}

    private let state = Mutex(State())
    private let processes: CommandProcesses
    private let agentUser: UInt32

    init(_ processes: CommandProcesses, agentUser: UInt32) {
        (self.processes, self.agentUser) = (processes, agentUser)
    }

    /// Takes a place for a connection until it is closed. Call this on its event loop.
    /// - Parameter app: the app whose own socket it is; nil for the socket of all apps.
    /// - Returns: who the client is.
    /// - Throws: if there are too many connections. The caller then closes this one.
    func add(_ channel: any Channel, of app: String?) throws -> LocalPeer {
        let found = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            socket in
            LocalPeer(socket: socket).map { peer in
                var peer = peer
                if let app { peer.reach = .only(app) }
                peer.reach = peer.reach.and(reach(of: peer, at: socket))
                return peer
            }
        }
        // If the system does not know the client, nobody could say what it may do.
        guard let peer = found.flatMap(\.self) else { throw Refused() }
        try state.withLock { state in
            let own = state.counts[peer.user] ?? 0
            guard own < AgentLimits.connectionsOfUser, state.channels.count < AgentLimits.connections else {
                throw Refused()
            }
            state.counts[peer.user] = own + 1
            state.channels[ObjectIdentifier(channel)] = channel
        }
        channel.closeFuture.whenComplete { [self] _ in remove(channel, of: peer.user) }
        return peer
    }

    /// What follows from the command that the process descends from, if it does.
    private func reach(of peer: LocalPeer, at socket: CInt) -> LocalPeer.Reach {
        #if os(Linux)
            // A confined command cannot become another user, unless it is root's.
            guard peer.user == agentUser || agentUser == 0 else { return .all }
            return switch processes.place(of: peer.process, at: socket) {
            case .outside: .all
            case .command(let command): .only(command.bundleID)
            case .unknown: .nothing
            }
        #else
            return .all
        #endif
    }

    private func remove(_ channel: any Channel, of user: UInt32) {
        state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = nil
            let left = (state.counts[user] ?? 1) - 1
            state.counts[user] = left > 0 ? left : nil
        }
    }

    /// Ends the connections after the answers that are under way. `ConnectionGuard` closes those that take too long.
    func end() {
        for channel in state.withLock({ Array($0.channels.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }
}
