import Notifications
import Rates
import Storage

@testable import Delivery

/// The nodes, and the events that happen to them.
extension DeliverySimulation {
    final class Node {
        /// The remaining work of a thread, in order.
        typealias Thread = [Work]

        enum Work {
            case acceptance(Acceptances.Action)
            case store([MailboxEntry])
            case line(DeviceLine.Action, DeviceKey)
            /// A device has acknowledged an attempt.
            case acknowledged(DeviceLine.UnderWay)
        }

        /// A call to the store that is under way.
        enum Call {
            case storing([MailboxEntry])
            case storingAgain([MailboxEntry], [Int], results: [Result<MailboxVersion, StoreError>])
            case stored([Result<MailboxVersion, StoreError>])
            case reading(DeviceKey, epoch: UInt64)
            case read(DeviceKey, epoch: UInt64, [StoredMailboxEntry]?)
            /// Used only with ``Fault/readsBeforeAttaching``.
            case attaching(DeviceKey, Stream, [StoredMailboxEntry])
            case removing(MailboxReference)
            case lookingUp(Connection)
        }

        struct Start {
            /// The number of the start, counted over all nodes.
            let number: UInt64
            let origin: OfferOrigin
            let limits: DeliveryLimits
            /// Whether other nodes use the same store.
            let isShared: Bool
            /// The apps that keep more than one notification.
            let keeping: KeepingApps

            var acceptances: Acceptances {
                Acceptances(
                    limits: limits, names: OfferNames(origin: origin), isShared: isShared, keeping: keeping)
            }
        }

        let number: Int
        /// How far the node's clock is ahead.
        let skew: Duration
        private(set) var start: UInt64
        private(set) var origin: OfferOrigin
        var acceptances: Acceptances
        var lines: [DeviceKey: AttachedLine] = [:]
        var silents: DeviceLine.Silents
        /// The times when silent notifications were sent.
        var silentAttempts: [Destination: [Timestamp]] = [:]
        /// The number of the newest attempt to each device, as far as this process knows.
        var newestNumbers: [DeviceKey: UInt64] = [:]
        var threads: [Thread] = []
        var calls: [Call] = []
        /// The last known node of each device.
        var hints: [DeviceKey: Place] = [:]
        /// The offers to other nodes without an outcome, each with its destination and the node that got it.
        var openOffers: [OfferID: (destination: Destination, node: Int)] = [:]
        /// The registrations that the node knows: whether the app is on its device.
        var known: [Destination: Bool] = [:]
        /// The submissions that wait for a look-up, by connection.
        var lookUps: [Connection: [Submission]] = [:]
        var isUp = true
        var cutOffSince: Timestamp?
        /// Since when the process has been stopped; nil if it runs. Only its providers' requests wait until it goes on.
        /// Everything else of a node may be late in every run.
        var stoppedSince: Timestamp?
        /// The requests that came while the process was stopped. They are still in its sockets.
        var unread: [(submission: Submission, connection: Connection)] = []
        /// Whether the process was stopped for long, and has not renewed its lease since.
        var wasStopped = false

        init(_ number: Int, skew: Duration, _ start: Start) {
            self.number = number
            self.skew = skew
            self.start = start.number
            origin = start.origin
            acceptances = start.acceptances
            silents = DeviceLine.Silents(start.limits.silentsPerApp)
        }

        /// Starts the process again. Nothing of the earlier process is left.
        func begin(_ start: Start) {
            self.start = start.number
            origin = start.origin
            acceptances = start.acceptances
            silents = DeviceLine.Silents(start.limits.silentsPerApp)
            silentAttempts = [:]
            lines = [:]
            newestNumbers = [:]
            threads = []
            calls = []
            hints = [:]
            openOffers = [:]
            known = [:]
            lookUps = [:]
            cutOffSince = nil
            stoppedSince = nil
            unread = []
            wasStopped = false
        }

        /// Whether the node can reach the store and the other nodes.
        var isReachable: Bool { isUp && cutOffSince == nil }

        /// Whether the node has measured the store's clock. Some never do, so that the rules for them are tested too.
        var knowsClock: Bool { !start.isMultiple(of: 3) }

        /// Does what the driver does after every event.
        func advanced(_ actions: [Acceptances.Action], now: Uptime) -> [Work] {
            // The store may take the waiting batch at once, or later, as when it is busy.
            let batch = acceptances.nextBatch(now: now)
            let storing: [Work] = batch.entries.isEmpty ? [] : [.store(batch.entries)]
            return (actions + batch.actions).map(Work.acceptance) + storing
        }

        func startThread(_ work: [Work]) {
            if !work.isEmpty { threads.append(work) }
        }
    }

    /// The node that has a device's connection, by the store.
    struct Lease {
        let node: Int
        let epoch: UInt64
        let stream: Stream

        var place: Place { Place(node: node, epoch: epoch) }
    }

    /// Where a device is, and since which epoch.
    struct Place {
        let node: Int
        let epoch: UInt64
    }

    /// How long a lease is valid if its node does not renew it.
    private static var leaseLife: Duration { .milliseconds(100) }

    /// A node learns something, is cut off, is repaired, or starts again.
    func nodeStep() {
        guard let node = nodes.randomElement(using: &random) else { return }
        guard node.isUp, chance(80) else { return repair(node) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            // The critical moment is when a node has stored something without announcing it yet.
            if chance(50) { cutOff(node) } else { breakLink(of: talking.randomElement(using: &random) ?? node) }
        case 1..<4: if let device = devices.randomElement(using: &random) { learn(device.key, node) }
        case 4..<7:
            if let destination = destinations.randomElement(using: &random), node.isReachable {
                // The node's knowledge of a registration is dropped or updated.
                node.known[destination] = chance(50) ? nil : active.contains(destination)
            }
        default: repair(node)
        }
    }

    func learn(_ device: DeviceKey, _ node: Node) {
        if node.isReachable { node.hints[device] = leases[device]?.place }
    }

    private func cutOff(_ node: Node) {
        guard node.cutOffSince == nil else { return }
        node.cutOffSince = now
        for other in nodes where other !== node { breakLink(between: node, and: other) }
    }

    /// Starts the node, or connects it again, or lets it go on.
    func repair(_ node: Node) {
        node.isUp = true
        if node.cutOffSince != nil { endLeases() }
        node.cutOffSince = nil
        goOn(node)
    }

    /// A node is stopped. Later its provider gives up what waits there, or the node goes on.
    func stopSometimes() {
        guard hasStops, chance(10), let node = someNode() else { return }
        if node.stoppedSince == nil {
            if chance(30) { node.stoppedSince = now }
        } else if node.unread.contains(where: { !records[Int($0.submission.ticket) - 1].isGivenUp }) {
            giveUp(node)
        } else if chance(30) {
            goOn(node)
        }
    }

    /// The node goes on, and reads what came while it was stopped.
    private func goOn(_ node: Node) {
        guard let since = node.stoppedSince else { return }
        node.stoppedSince = nil
        // A provider waits for longer than this before it gives up a request.
        if since.advanced(by: limits.promptStoring) < now { node.wasStopped = true }
        let unread = node.unread
        node.unread = []
        for request in unread { arrive(request.submission, on: request.connection, at: node) }
    }

    /// The node renews its lease. It does so late enough that what came while it was stopped has been looked up before.
    func renewLease(of node: Node) {
        if node.isReachable, node.stoppedSince == nil, node.lookUps.isEmpty { node.wasStopped = false }
    }

    /// If a node could not renew its leases, it ends its streams when they have run out, and its devices connect
    /// elsewhere.
    func endLeases() {
        for node in nodes {
            guard let since = node.cutOffSince, since.advanced(by: Self.leaseLife) <= now else { continue }
            leases = leases.filter { $0.value.node != node.number }
            wantsRest = wantsRest || chance(10)
            guard fault != .keepsStreams else { continue }
            for device in devices {
                guard let attached = node.lines[device.key] else { continue }
                lose(attached.stream, of: device)
                detach(attached.stream, of: device.key)
            }
        }
    }

    /// The nodes that have stored something and not announced it yet.
    var talking: [Node] {
        nodes.filter { node in node.isUp && messages.contains { $0.from == node.number && $0.isAnnouncement } }
    }

    /// Kills a process: only what is on disk is left. A single node starts again at once.
    func crash() {
        // Prefer a node that has stored something without announcing it yet, because this is the critical moment.
        guard let node = talking.randomElement(using: &random) ?? someNode() else { return }
        for case .storing(let entries) in node.calls {
            for entry in entries where chance(50) { _ = commit(entry) }
        }
        for index in records.indices where !records[index].isAnswered {
            let isHere = !isCluster || records[index].connection.start == node.start
            if isHere { records[index].isForgotten = true }
        }
        for other in nodes where other !== node { breakLink(between: node, and: other) }
        messages.removeAll { $0.from == node.number && chance(50) }
        // The process has decided this, and may have answered. Only its delivery log lacks it.
        for case .acceptance(.record(let step, let subject)) in node.threads.joined() { recordStep(step, of: subject) }
        node.begin(start())
        node.isUp = !isCluster
        for device in devices {
            device.gone.removeAll { $0.node == node.number }
            if let stream = device.stream, stream.node == node.number { lose(stream, of: device) }
        }
        for other in nodes where other.number != node.number && other.isUp {
            messages.append(Message(from: other.number, to: other.number, device: nil, content: .nodeLost))
        }
        now = now.advanced(by: .milliseconds(1))
        if diesOften { wantsRest = wantsRest || chance(50) }
    }

    // MARK: Apps

    /// An app is removed from its device, or registered again, through any node.
    func appStep() {
        guard let destination = destinations.randomElement(using: &random),
            let node = nodes.filter(\.isReachable).randomElement(using: &random)
        else { return }
        if active.contains(destination) {
            guard chance(30) else { return }
            end(destination)
        } else {
            active.insert(destination)
        }
        node.known[destination] = active.contains(destination)
    }

    private func end(_ destination: Destination) {
        active.remove(destination)
        droppedUpTo[destination] = UInt64(records.count)
        let held = contents.filter { $0.entry.destination == destination }
        mailboxes[destination] = nil
        kept[destination] = nil
        for number in held.map(\.entry.notification.number) {
            // A notification that a line or a message already has may still arrive, and others may be answered soon.
            records[Int(number) - 1].isWithdrawn = records[Int(number) - 1].isAnswered && !isInHands(number)
        }
    }

    private func isInHands(_ number: UInt64) -> Bool {
        let isSaid = messages.contains { $0.notification?.number == number }
        return isSaid
            || nodes.contains { node in
                node.calls.contains { call in
                    if case .read(_, _, let entries?) = call {
                        entries.contains { $0.entry.notification.number == number }
                    } else {
                        false
                    }
                }
                    || node.threads.joined().contains { work in
                        if case .acceptance(.announce(let stored, _)) = work {
                            stored.entry.notification.number == number
                        } else {
                            false
                        }
                    }
                    || node.lines.values.contains { attached in
                        attached.line.held.contains { $0.offer.notification.number == number }
                            || attached.line.deferred.contains { $0.notification.number == number }
                    }
            }
    }
}
