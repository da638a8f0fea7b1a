import Notifications

@testable import Delivery

/// The switchboard between the nodes. Each message arrives at a time of its own.
///
/// It does what a real switchboard has to do. The known node of a device is only a hint for an offer, which also names the
/// epoch; after storing, the store is asked for both. Two nodes have one connection, on which a node's announcement about a
/// device is not overtaken by its later offers, but it may overtake its earlier offers. Messages to different nodes have no
/// order. If the connection breaks, what is under way on it is lost, and each node takes its open offers as returned. If it
/// stalls in one direction, the offers and outcomes on it stay, while everything else goes on, and arrive later. Offers that
/// were sent before an announcement, and arrive after it, are refused.
/// Announcements are in the store as well. A node that learns of the end of another reads the mailboxes of its devices again.
extension DeliverySimulation {
    struct Message {
        let from: Int
        /// For an announcement, nil until the store was asked where the device is.
        var to: Int?
        let device: DeviceKey?
        let content: Content
        /// For an offer, whether the receiver refuses it, because something that may be newer has come through the store.
        var isLate = false

        enum Content {
            case offer(Offer, epoch: UInt64)
            case announcement(StoredMailboxEntry, OfferID?)
            case outcome(OfferID, Destination, PeerOutcome)
            /// The device has opened a stream at another node.
            case leaseLost(Stream)
            /// Another node has died.
            case nodeLost
        }

        var notification: Notification? {
            switch content {
            case .offer(let offer, _): offer.notification
            case .announcement(let stored, _): stored.entry.notification
            case .outcome, .leaseLost, .nodeLost: nil
            }
        }

        var isAnnouncement: Bool {
            if case .announcement = content { true } else { false }
        }

        /// The link that the message is on.
        var link: Link? { to.map { Link(from: from, to: $0) } }

        /// Whether the message is not repeated when a connection breaks.
        var mayBeLost: Bool {
            switch content {
            case .offer, .outcome: true
            case .announcement, .leaseLost, .nodeLost: false
            }
        }
    }

    // MARK: Saying

    /// Offers a notification to the node that is known to have the device.
    func offer(_ offer: Offer, by node: Node) -> OfferAnswer {
        let device = offer.destination.deviceKey
        if node.lines[device] != nil { return take(offer, node) }
        guard isCluster, let place = node.hints[device], place.node != node.number else { return .returned }
        messages.append(
            Message(from: node.number, to: place.node, device: device, content: .offer(offer, epoch: place.epoch)))
        if let id = offer.id { node.openOffers[id] = (offer.destination, place.node) }
        return .taken
    }

    /// Announces a mailbox's new content.
    func announce(_ stored: StoredMailboxEntry, offer: OfferID?, by node: Node) -> [Node.Work] {
        let device = stored.entry.destination.deviceKey
        if isCluster {
            messages.append(
                Message(from: node.number, to: nil, device: device, content: .announcement(stored, offer)))
        }
        return take(stored, offer: offer, node)
    }

    /// Reports the outcome of an offer to the node that made it.
    func report(
        _ offer: OfferID,
        of destination: Destination,
        isAcknowledged: Bool,
        by node: Node,
    ) -> [Node.Work] {
        guard let maker = nodes.first(where: { $0.origin == offer.origin }) else { return [] }
        if maker === node { return take(offer, destination, isAcknowledged: isAcknowledged, node) }
        say(isAcknowledged ? .acknowledged : .returned, of: offer, to: destination, node, maker)
        return []
    }

    private func say(
        _ outcome: PeerOutcome, of offer: OfferID, to destination: Destination, _ node: Node, _ maker: Node
    ) {
        messages.append(
            Message(
                from: node.number, to: maker.number, device: nil, content: .outcome(offer, destination, outcome)))
    }

    // MARK: Connections between nodes

    /// One direction of the connection between two nodes.
    struct Link: Hashable {
        let from: Int
        let to: Int
    }

    /// The link stalls on which an offer was just sent, for so long that the notification is stored. Often the other node's
    /// network is the reason, and the device loses its connection too.
    func stallSometimes(_ offer: OfferID, of device: DeviceKey, by node: Node) {
        guard hasStalls, let open = node.openOffers[offer] else { return }
        let link = Link(from: node.number, to: open.node)
        let wasStalled = stalled.contains(link)
        guard wasStalled || chance(10) else { return }
        stalled.insert(link)
        if !wasStalled, chance(50), let device = devices.first(where: { $0.key == device }), let stream = device.stream,
            stream.node == link.to
        {
            lose(stream, of: device)
            detach(stream, of: device.key)
        }
        pass(limits.acknowledgementGrace)
    }

    /// Ends the stalls of a node's links at a moment when what was under way may meet something newer. Most stalls last until
    /// it does, because an offer that arrives earlier cannot show a defect.
    func endStalls(to node: Node) {
        guard !stalled.isEmpty else { return }
        let meetsNewer = stalledOffers.contains { offer, link in link.to == node.number && isOvertaken(offer, at: node)
        }
        if chance(meetsNewer ? 70 : 5) { stalled = stalled.filter { $0.to != node.number } }
    }

    /// The offers that are on links that have stalled.
    var stalledOffers: [(offer: Offer, link: Link)] {
        messages.compactMap { message in
            guard case .offer(let offer, _) = message.content, let link = message.link, stalled.contains(link)
            else { return nil }
            return (offer, link)
        }
    }

    /// Whether a mailbox has something newer than what is on its way over a link that has stalled.
    private var isOvertaking: Bool { stalledOffers.contains { hasNewer($0.offer) } }

    private func hasNewer(_ offer: Offer) -> Bool {
        guard let present = mailboxes[offer.destination]?.entry.notification.number else { return false }
        let number = offer.notification.number
        return present > number && records[Int(present) - 1].answeredBefore.contains(number)
            && records[Int(present) - 1].connection == records[Int(number) - 1].connection
    }

    /// A line that reads its mailboxes during a stall may find what is not announced yet.
    func readDuringStall() {
        guard !stalled.isEmpty, let late = stalledOffers.first(where: { hasNewer($0.offer) }), chance(5) else { return }
        readAgain(nodes[late.link.to])
    }

    /// Whether the device has got something newer from the same provider on its present stream, but not this.
    private func isOvertaken(_ offer: Offer, at node: Node) -> Bool {
        let number = offer.notification.number
        guard let stream = node.lines[offer.destination.deviceKey]?.stream, !stream.sent.contains(number),
            let newest = stream.newestSent[offer.destination.app]?[records[Int(number) - 1].connection]
        else { return false }
        return newest > number
    }

    func breakLink(of node: Node) {
        if let other = nodes.filter({ $0 !== node }).randomElement(using: &random) {
            breakLink(between: node, and: other)
            badLink = Link(from: node.number, to: other.number)
        }
    }

    /// A connection that has broken often breaks again. The critical moment is when a node has stored what was under way, and
    /// announces it.
    func breakAgainSometimes() {
        guard breaksAgain, let link = badLink,
            messages.contains(where: { $0.isAnnouncement && ($0.from == link.from || $0.from == link.to) }), chance(20)
        else { return }
        badLink = nil
        breakLink(between: nodes[link.from], and: nodes[link.to])
    }

    /// What is under way between two nodes is lost, and the offers without an outcome count as returned.
    func breakLink(between one: Node, and other: Node) {
        messages.removeAll { message in
            guard
                message.from == one.number && message.to == other.number
                    || message.from == other.number && message.to == one.number
            else { return false }
            return message.mayBeLost
        }
        // The next connection works.
        stalled.subtract([Link(from: one.number, to: other.number), Link(from: other.number, to: one.number)])
        if fault == .losesAnnouncements {
            let count = messages.count
            messages.removeAll { $0.isAnnouncement && ($0.from == one.number || $0.from == other.number) }
            // Later events must not hide it.
            if messages.count < count { wantsRest = true }
        }
        for (node, there) in [(one, other), (other, one)] {
            let open = node.openOffers.filter { $0.value.node == there.number }
            for (id, offer) in open.sorted(by: { $0.key.number < $1.key.number }) {
                node.openOffers[id] = nil
                node.startThread(take(id, offer.destination, isAcknowledged: false, node))
            }
        }
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
        return node.advanced(actions, now: moment.uptime)
    }

    // MARK: Arriving

    /// Delivers or delays one message.
    func messageStep() {
        let ready = messages.indices.filter(isReady)
        guard let index = isSettling ? ready.first : ready.randomElement(using: &random) else {
            // The messages have no receiver any more, unless a link has stalled.
            if isSettling, stalled.isEmpty { messages.removeAll() }
            return
        }
        // The store is not asked at once for what a connection that has stalled does not bring.
        if !isSettling, messages[index].isAnnouncement, let link = messages[index].link, stalled.contains(link),
            chance(isOvertaking ? 30 : 98)
        {
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

    /// The node that has the device, by the store; nil if the announcement is not needed.
    private func holder(_ message: Message) -> Int? {
        guard let device = message.device else { return nil }
        let sender = nodes[message.from]
        let holder = fault == .announcesByHint ? sender.hints[device]?.node : leases[device]?.node
        sender.hints[device] = leases[device]?.place
        return holder == message.from ? nil : holder
    }

    var hasReadyMessage: Bool { messages.indices.contains(where: isReady) }

    private func isReady(_ index: Int) -> Bool {
        let message = messages[index]
        if case .nodeLost = message.content { return true }
        // A dead node sends nothing more.
        if message.to == nil, !nodes[message.from].isReachable { return false }
        if nodes[message.from].cutOffSince != nil { return false }
        if message.mayBeLost, let link = message.link, stalled.contains(link) { return false }
        if let to = message.to, nodes[to].cutOffSince != nil, !isStale(message) { return false }
        guard fault != .offersOvertake, case .offer = message.content else { return true }
        // The announcement of what was stored before may go to the same node.
        return !messages[..<index].contains {
            $0.from == message.from && $0.device == message.device && ($0.to == message.to || $0.to == nil)
        }
    }

    /// Whether the announcement is no longer needed: the device has connected elsewhere and read its mailboxes since.
    private func isStale(_ message: Message) -> Bool {
        guard case .announcement = message.content, let device = message.device else { return false }
        return leases[device]?.node != message.to
    }

    /// A node takes another node's offer, or says why it does not.
    private func take(_ offer: Offer, epoch: UInt64, from maker: Node, at node: Node) {
        let device = offer.destination.deviceKey
        let isHeld = node.lines[device].map { $0.hold == epoch || fault == .takesEarlierEpochs } ?? false
        guard isHeld else {
            if let id = offer.id { say(.elsewhere, of: id, to: offer.destination, node, maker) }
            return
        }
        let answer = take(offer, node)
        guard let id = offer.id else { return }
        if answer == .returned || answer == .held {
            say(.returned, of: id, to: offer.destination, node, maker)
        } else if fault == .answersOffersTwice {
            say(.acknowledged, of: id, to: offer.destination, node, maker)
        }
    }

    /// A node refuses the offers that were sent to it before it learned what is stored.
    func refuseEarlier(for destinations: [Destination], at node: Node) {
        guard fault != .takesLateOffers else { return }
        for index in messages.indices where messages[index].to == node.number {
            guard case .offer(let offer, _) = messages[index].content, destinations.contains(offer.destination)
            else { continue }
            messages[index].isLate = true
        }
    }

    /// A node learns what another has stored: from that node, or in the store if their connection has stalled. In the store
    /// it finds only the mailbox's present content, which may be newer.
    private func hear(_ stored: StoredMailboxEntry, offer: OfferID?, from sender: Int, at node: Node) {
        let destination = stored.entry.destination
        refuseEarlier(for: [destination], at: node)
        if !stalled.contains(Link(from: sender, to: node.number)) {
            node.startThread(take(stored, offer: offer, node))
        } else {
            for present in contents where present.entry.destination == destination {
                node.startThread(take(present, offer: nil, node))
            }
        }
        endStalls(to: node)
    }

    private func deliver(_ message: Message) {
        guard let to = message.to, nodes[to].isUp, !isStale(message) || fault == .announcesByHint else { return }
        let node = nodes[to]
        switch message.content {
        case .offer(let offer, let epoch):
            // Most offers for an earlier hold are late as well, so that the one check hides that the other is missing.
            let isEarlier = node.lines[offer.destination.deviceKey].map { $0.hold != epoch } ?? true
            if !message.isLate || isEarlier && fault == .takesEarlierEpochs {
                take(offer, epoch: epoch, from: nodes[message.from], at: node)
            } else if let id = offer.id {
                say(.returned, of: id, to: offer.destination, node, nodes[message.from])
            }
        case .announcement(let stored, let offer):
            hear(stored, offer: offer, from: message.from, at: node)
        case .outcome(let offer, let destination, let outcome):
            guard node.openOffers.removeValue(forKey: offer) != nil || fault == .answersOffersTwice else { return }
            if outcome == .elsewhere { node.hints[destination.deviceKey] = nil }
            node.startThread(take(offer, destination, isAcknowledged: outcome == .acknowledged, node))
        case .leaseLost(let stream):
            for device in devices { detach(stream, of: device.key) }
        case .nodeLost:
            if fault != .forgetsLostNode { readAgain(node) }
        }
    }
}
