package import Delivery
package import Logging
package import NIOCore
package import NIOSSL
import Notifications
import Synchronization

/// The direct connections to the other nodes of a cluster, one for each node. They only save time: if a notification
/// cannot be sent directly, it goes through the store.
package final class Peers: PeerRoutes, Sendable {
    let limits: PeerLimits
    let greeting: PeerGreeting
    package let origin: OfferOrigin
    /// Whether other nodes can call this one.
    private let isReachable: Bool
    private let group: any EventLoopGroup
    /// Makes the TLS context of a new connection, with a new certificate of this node.
    private let tls: @Sendable () throws -> NIOSSLContext
    let logger: Logger
    private let receiver = Mutex(WeakReceiver())
    private let state = Mutex(State())
    let logQuestions: PeerQuestions<String>
    /// Reads this node's delivery log for another one.
    let readLog = Mutex<(@Sendable (NotificationID) async throws -> [String])?>(nil)
    let deviceQuestions: PeerQuestions<ConnectedDevice>
    /// Finds this node's connected devices for another one.
    let findDevices = Mutex<(@Sendable ([DeviceKey]) async -> [ConnectedDevice])?>(nil)

    private struct WeakReceiver {
        weak var receiver: (any PeerReceiver)?
    }

    private struct State {
        var links: [NodeID: PeerLink] = [:]
        var origins: [OfferOrigin: PeerLink] = [:]
        /// The nodes that this node calls, with their addresses.
        var calls: [NodeID: Call] = [:]
        /// The other nodes that run, if one of the two can call the other.
        var expectedNodes: Set<NodeID> = []
        var isClosed = false
    }

    private struct Call {
        let address: String
        let task: Task<Void, Never>
    }

    /// - Parameters:
    ///   - node: this node.
    ///   - origin: names this node's offers.
    ///   - isReachable: whether other nodes can call this one.
    ///   - tls: makes the TLS context of a new connection.
    package init(
        node: NodeID,
        origin: OfferOrigin,
        isReachable: Bool,
        limits: PeerLimits = PeerLimits(),
        group: any EventLoopGroup,
        logger: Logger,
        tls: @escaping @Sendable () throws -> NIOSSLContext,
    ) {
        self.origin = origin
        self.isReachable = isReachable
        self.limits = limits
        self.group = group
        self.logger = logger
        self.tls = tls
        greeting = PeerGreeting(node: node, origin: origin)
        logQuestions = PeerQuestions(maximumParts: limits.answeredLines)
        deviceQuestions = PeerQuestions(maximumParts: limits.askedDevices)
    }

    /// Sets the object that receives the records of other nodes. The reference to it is weak.
    package func report(to receiver: any PeerReceiver) { self.receiver.withLock { $0.receiver = receiver } }

    /// The number of connected nodes.
    package var connected: Int { openLinks.count }

    /// The number of nodes that run and should be connected, but are not.
    package var missing: Int {
        state.withLock { state in state.expectedNodes.count { state.links[$0] == nil } }
    }

    var openLinks: [PeerLink] { state.withLock { Array($0.links.values) } }

    // MARK: PeerRoutes

    package func offer(_ offer: Offer, epoch: UInt64, to node: NodeID) -> Bool {
        link(to: node)?.offer(offer, epoch: epoch) ?? false
    }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64, to node: NodeID) {
        guard let link = link(to: node) else { return }
        // If the queue is full, close the link: the node reads the announcement in the store, and a later offer must
        // not overtake it.
        if link.takes(entry.entry.destination), !link.send(.stored(entry, offer: offer, epoch: epoch)) { link.close() }
        // The notification is safe and answered. So devices that never acknowledge do not use up the open offers.
        if let offer { link.forget(offer) }
    }

    package func report(_ outcome: PeerOutcome, of offer: OfferID) {
        // If the link has ended, the other node has already ended its open offers without an outcome.
        guard let link = state.withLock({ $0.origins[offer.origin] }) else { return }
        // An outcome must not be lost while the link exists.
        if !link.send(.outcome(outcome, offer: offer.number)) { link.close() }
    }

    package func refuseEarlier(for destinations: [Destination]?, isEnded: Bool) {
        for link in openLinks { link.refuseEarlier(for: destinations, isEnded: isEnded) }
    }

    package func broadcast(_ broadcast: PeerBroadcast) {
        // If a queue is full, the broadcast is left out there. If it is stored, the node finds it in the store.
        for link in openLinks where link.takesBroadcasts { link.send(.broadcast(broadcast)) }
    }

    func link(to node: NodeID) -> PeerLink? { state.withLock { $0.links[node] } }

    // MARK: Links

    func opened(_ link: PeerLink) {
        let older = state.withLock { state in
            state.origins[link.origin] = link
            return state.links.updateValue(link, forKey: link.node)
        }
        // Records on the older connection may be older than those that come over the new one.
        older?.refuseEarlier(for: nil, isEnded: true)
        older?.close()
        logger.debug("A node is connected", metadata: ["node": "\(Hexadecimal.string(link.node.bytes))"])
    }

    func closed(_ link: PeerLink) {
        state.withLock { state in
            if state.links[link.node] === link { state.links[link.node] = nil }
            if state.origins[link.origin] === link { state.origins[link.origin] = nil }
        }
        let receiver = receiver.withLock { $0.receiver }
        for offer in link.end() { receiver?.ended(offer.id, of: offer.destination, .returned) }
        logger.debug("A node's connection has ended", metadata: ["node": "\(Hexadecimal.string(link.node.bytes))"])
    }

    func received(_ record: PeerRecord, from link: PeerLink) {
        guard let receiver = receiver.withLock({ $0.receiver }) else { return }
        switch record {
        case .offer(let offer, let epoch):
            // Reject an offer whose ID names another node as its origin.
            if let id = offer.id, id.origin != link.origin { return link.close() }
            var outcome: PeerOutcome? = .returned
            if link.refuses(offer) { receiver.refused(offer) } else { outcome = receiver.offered(offer, epoch: epoch) }
            if let outcome, let id = offer.id { report(outcome, of: id) }
        case .stored(let entry, let offer, let epoch):
            guard !link.ignoresStored(for: entry.entry.destination) else { return }
            receiver.stored(entry, offer: offer, epoch: epoch)
        case .outcome(let outcome, let number):
            guard let offer = link.takeOffer(number) else { return }
            receiver.ended(offer.id, of: offer.destination, outcome)
        case .broadcast(let broadcast): receiver.broadcast(broadcast)
        case .barrier(let barrier): if !link.send(.barrierPassed(barrier)) { link.close() }
        case .barrierPassed(let barrier): link.barrierPassed(barrier)
        case .logQuestion(let number, let id): answer(number, id, over: link)
        case .logEntry(let number, let line): logQuestions.add(line, to: number, from: link.node)
        case .logEnd(let number): logQuestions.end(number, from: link.node, isComplete: true)
        case .deviceQuestion(let number, let devices): answer(number, devices, over: link)
        case .connectedDevice(let number, let device): deviceQuestions.add(device, to: number, from: link.node)
        case .deviceEnd(let number): deviceQuestions.end(number, from: link.node, isComplete: true)
        }
    }

    // MARK: Calling

    /// Starts to call nodes that are new, and stops calling nodes that have gone.
    package func update(_ nodes: [ClusterNode]) {
        let own = greeting.node
        let callable = nodes.filter { node in
            node.id != own && node.state != .gone && node.peer != nil
                // If two nodes can call each other, only the one with the smaller identity calls.
                && (!isReachable || own.bytes.lexicographicallyPrecedes(node.id.bytes))
        }
        let addresses = Dictionary(callable.compactMap { node in node.peer.map { (node.id, $0) } }) { $1 }
        let expected = nodes.filter { $0.id != own && $0.state != .gone && (isReachable || $0.peer != nil) }
        let ended = state.withLock { state -> [Call] in
            guard !state.isClosed else { return [] }
            state.expectedNodes = Set(expected.map(\.id))
            let ended = state.calls.filter { addresses[$0.key] != $0.value.address }
            for node in ended.keys { state.calls[node] = nil }
            for (node, address) in addresses where state.calls[node] == nil {
                state.calls[node] = Call(address: address, task: Task { await self.keepCalling(node, at: address) })
            }
            return Array(ended.values)
        }
        for call in ended { call.task.cancel() }
    }

    private func keepCalling(_ node: NodeID, at address: String) async {
        let caller = PeerCaller(self, node, address, group: group, tls: tls)
        var failures = 0
        var isLogged = false
        while !Task.isCancelled {
            do {
                let start = NIODeadline.now()
                try await caller.call()
                // If the connection ended soon after the attempt began, this counts as a failure too.
                failures = NIODeadline.now() - start > limits.connectTimeout ? 0 : failures + 1
                isLogged = false
            } catch {
                failures += 1
                if !isLogged, !Task.isCancelled {
                    isLogged = true
                    logger.warning(
                        "A node cannot be reached, so what is for its devices goes through the store",
                        metadata: ["peer": "\(address)", "cause": "\(PeerCaller.cause(of: error))"])
                }
            }
            // The sleep throws only if the task is cancelled, and then the loop ends too.
            try? await Task.sleep(for: .nanoseconds(caller.pause(after: failures).nanoseconds))
        }
    }

    /// Ends all connections.
    package func close() {
        let (calls, links) = state.withLock { state in
            state.isClosed = true
            defer { state.calls = [:] }
            return (Array(state.calls.values), Array(state.links.values))
        }
        for call in calls { call.task.cancel() }
        for link in links { link.close() }
    }
}
