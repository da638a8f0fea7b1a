import Notifications

@testable import Delivery

/// The switchboard between the nodes: what one says to another arrives at its own time.
///
/// What a real one has to do is what this one does. Where a device is, is a hint for an offer; after storing, the store is
/// asked for it. What one node says of a device is not overtaken by what it offers later, though what it has stored may
/// overtake what it has offered. A node that hears of another's end reads its devices' mailboxes again.
extension DeliverySimulation {
    struct Message {
        let from: Int
        /// Nil for what was stored, until the store has been asked where the device is.
        var to: Int?
        let device: DeviceKey?
        let content: Content

        enum Content {
            case offer(Offer)
            case announcement(StoredMailboxEntry, OfferID?)
            case outcome(OfferID, Destination, isAcknowledged: Bool)
            /// The device has opened a stream elsewhere.
            case leaseLost(Stream)
            /// Another node is no more.
            case nodeLost
        }

        var notification: Notification? {
            switch content {
            case .offer(let offer): offer.notification
            case .announcement(let stored, _): stored.entry.notification
            case .outcome, .leaseLost, .nodeLost: nil
            }
        }

        var isAnnouncement: Bool {
            if case .announcement = content { true } else { false }
        }

        /// Whether it is not said again when a connection breaks.
        var mayBeLost: Bool {
            switch content {
            case .offer, .outcome: true
            case .announcement, .leaseLost, .nodeLost: false
            }
        }
    }

    // MARK: Saying

    /// Offers a notification to whoever is known to have the device.
    func offer(_ offer: Offer, by node: Node) -> OfferAnswer {
        let device = offer.destination.deviceKey
        if node.lines[device] != nil { return take(offer, node) }
        guard isCluster, let other = node.hints[device], other != node.number else { return .returned }
        messages.append(Message(from: node.number, to: other, device: device, content: .offer(offer)))
        return .taken
    }

    /// A mailbox has a new content.
    func announce(_ stored: StoredMailboxEntry, offer: OfferID?, by node: Node) -> [Node.Work] {
        let device = stored.entry.destination.deviceKey
        if isCluster {
            messages.append(
                Message(from: node.number, to: nil, device: device, content: .announcement(stored, offer)))
        }
        return take(stored, offer: offer, node)
    }

    /// What became of an offer is said to whoever made it.
    func report(
        _ offer: OfferID,
        of destination: Destination,
        isAcknowledged: Bool,
        by node: Node,
    ) -> [Node.Work] {
        guard let maker = nodes.first(where: { $0.origin == offer.origin }) else { return [] }
        if maker === node { return take(offer, destination, isAcknowledged: isAcknowledged, node) }
        messages.append(
            Message(
                from: node.number, to: maker.number, device: nil,
                content: .outcome(offer, destination, isAcknowledged: isAcknowledged)))
        return []
    }

    private func take(
        _ offer: OfferID,
        _ destination: Destination,
        isAcknowledged: Bool,
        _ node: Node,
    ) -> [Node.Work] {
        let actions =
            isAcknowledged
            ? node.acceptances.acknowledged(offer, of: destination)
            : node.acceptances.returned(offer, of: destination)
        return node.advanced(actions)
    }

    // MARK: Arriving

    /// One message gets on.
    func messageStep() {
        let ready = messages.indices.filter(isReady)
        guard let index = isSettling ? ready.first : ready.randomElement(using: &random) else {
            // What is for nobody.
            if isSettling { messages.removeAll() }
            return
        }
        var message = messages.remove(at: index)
        if message.to == nil {
            guard let to = holder(message) else { return }
            message.to = to
            messages.insert(message, at: index)
        } else {
            deliver(message)
        }
    }

    /// Where the device is, as the node that has stored something is told; nil where it need not say it to anybody.
    private func holder(_ message: Message) -> Int? {
        guard let device = message.device else { return nil }
        let sender = nodes[message.from]
        let holder = fault == .announcesByHint ? sender.hints[device] : leases[device]?.node
        sender.hints[device] = leases[device]?.node
        return holder == message.from ? nil : holder
    }

    private func isReady(_ index: Int) -> Bool {
        let message = messages[index]
        if case .nodeLost = message.content { return true }
        // A node that is gone says nothing more than what is on its way.
        if message.to == nil, !nodes[message.from].isReachable { return false }
        if nodes[message.from].cutOffSince != nil { return false }
        if let to = message.to, nodes[to].cutOffSince != nil, !isStale(message) { return false }
        guard fault != .offersOvertake, case .offer = message.content else { return true }
        return !messages[..<index].contains { $0.from == message.from && $0.device == message.device }
    }

    /// Whether what was stored need not be said any more: the device is elsewhere, and has read its mailboxes since.
    private func isStale(_ message: Message) -> Bool {
        guard case .announcement = message.content, let device = message.device else { return false }
        return leases[device]?.node != message.to
    }

    private func deliver(_ message: Message) {
        guard let to = message.to, nodes[to].isUp, !isStale(message) || fault == .announcesByHint else { return }
        let node = nodes[to]
        switch message.content {
        case .offer(let offer):
            guard take(offer, node) == .returned, let id = offer.id else { return }
            node.startThread(report(id, of: offer.destination, isAcknowledged: false, by: node))
        case .announcement(let stored, let offer):
            node.startThread(take(stored, offer: offer, node))
        case .outcome(let offer, let destination, let isAcknowledged):
            node.startThread(take(offer, destination, isAcknowledged: isAcknowledged, node))
        case .leaseLost(let stream):
            for device in devices { detach(stream, of: device.key) }
        case .nodeLost:
            if fault != .forgetsLostNode { readAgain(node) }
        }
    }
}
