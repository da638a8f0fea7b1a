import CommonTesting
import Notifications
import Rates

@testable import Delivery

/// The whole way of notifications under a seed's control: the two state machines, a model of the store, nodes that have it
/// in common, devices that come and go, and everything that happens at its own time between them.
///
/// A step is one thing that happens: a submission, one action of one thread, one stage of one call to the store, one
/// message from node to node, one notification or acknowledgement arriving, a connection made or broken, an app removed,
/// time going by, a node dying or cut off. The seed chooses which. What must hold is in `DeliverySimulation+Checks.swift`.
final class DeliverySimulation {
    /// Defects that can be planted in the simulation's own part of the work, to see that they are found.
    enum Fault: CaseIterable {
        /// 200 before the notification is on disk.
        case answersBeforeCommit
        /// An acknowledgement empties the mailbox, whatever it holds.
        case removesWhateverIsThere
        /// What has expired is delivered all the same.
        case deliversExpired
        /// The mailbox keeps the older notification and says that it has stored the newer one.
        case losesReplacement
        /// A connection reads the mailboxes first and attaches then.
        case readsBeforeAttaching
        /// Each connection numbers its attempts from the start.
        case numbersStartAgain
        /// What is stored is told to nobody.
        case announcesNothing
        /// A reading begun for an older connection counts for the newer one.
        case staleEpochSends
        /// Every device counts as awake.
        case wakesDevices
        /// Silent notifications are not counted.
        case countsNoSilents
        /// Storing does not look whether the app is on its device.
        case storesForRemoved
        /// The offers of all nodes have the same names.
        case offersCollide
        /// A line numbers its attempts by its node's clock alone, and not above what the device's lease says.
        case numbersByClock
        /// A stored notification is announced to the node that was last known to have the device.
        case announcesByHint
        /// An offer overtakes what the same node has said of the device before.
        case offersOvertake
        /// What comes after a look-up on the same connection is accepted before.
        case overtakesLookUp
        /// A node that is cut off keeps its streams when its leases have run out.
        case keepsStreams
        /// What a device acknowledges while it is being stored is answered before the store has answered.
        case answersWhileStoring
        /// A node that has lost another does not read its devices' mailboxes again.
        case forgetsLostNode

        /// How many nodes it takes to find it.
        var nodes: Int {
            switch self {
            case .offersCollide, .numbersByClock, .announcesByHint, .offersOvertake, .overtakesLookUp, .keepsStreams,
                .answersWhileStoring, .forgetsLostNode:
                3
            default: 1
            }
        }
    }

    let fault: Fault?
    var random: SeededGenerator
    var now = Example.moment
    var limits = DeliveryLimits()
    /// After how many of a hundred steps a message gets on: in some runs at once, in others with everything between.
    private let messagePace: Int
    /// Whether nodes die whenever they have something to say.
    let diesOften: Bool
    /// Nothing fails and nothing new comes.
    var isSettling = false

    var nodes: [Node] = []
    /// How often nodes have started.
    private var starts: UInt64 = 0
    /// From node to node, in the order in which it was said.
    var messages: [Message] = []
    var leases: [DeviceKey: Lease] = [:]
    /// Above which the numbers of each device's next line begin.
    var floors: [DeviceKey: UInt64] = [:]
    var mailboxes: [Destination: StoredMailboxEntry] = [:]
    var lastVersion: UInt64 = 0
    /// The apps that are on their devices.
    var active: Set<Destination> = []
    let devices: [Device]
    let destinations: [Destination]

    /// Everything ever submitted; a notification's number is its index and one.
    var records: [Record] = []
    /// Those that were on disk or taken by the device at some time, the last ones of each destination.
    var safe: [Destination: [UInt64]] = [:]
    /// What was submitted up to this number may have been dropped with its app.
    var droppedUpTo: [Destination: UInt64] = [:]
    /// Which notification each attempt to a device was.
    var numbers: [DeviceKey: [UInt64: UInt64]] = [:]
    var problems: [String] = []
    /// The rest comes early, so that what just happened is not made good by what happens next.
    var wantsRest = false
    private(set) var stepCount = 0

    /// - Parameter nodes: how many there are.
    init(seed: UInt64, nodes count: Int = 1, fault: Fault? = nil) {
        self.fault = fault
        isCluster = count > 1
        // Every combination with every number of nodes.
        messagePace = [100, 50, 25, 10][Int(seed / 3 % 4)]
        diesOften = isCluster && seed / 12 % 2 == 1
        random = SeededGenerator(seed: seed)
        // In some runs what waits for a device's power waits in its mailbox alone.
        limits.deferredPerDevice = Int(seed / 24 % 3)
        limits.unacknowledgedPerDevice = 3 + limits.deferredPerDevice / 2
        limits.pendingStoresPerShard = 6
        limits.storesPerBatch = 2
        limits.burstInterval = .seconds(3)
        limits.silentsPerApp = Rate(burst: 2, perSecond: 0.5)
        devices = (1...2).map { Device(DeviceKey(environment: .production, device: DeviceID(rawValue: $0))) }
        destinations = devices.flatMap { device in (1...2).map { Example.destination(app: $0, on: device.key) } }
        active = Set(destinations)
        // Clocks of nodes differ; here by more than those of machines that keep time.
        for number in 0..<count { nodes.append(Node(number, skew: .seconds(2 * number), start())) }
    }

    /// Whether there are several nodes.
    let isCluster: Bool

    /// What a node begins with.
    func start() -> Node.Start {
        starts += 1
        let origin = OfferOrigin(rawValue: fault == .offersCollide ? 1 : starts)
        return Node.Start(
            number: starts, origin: origin, limits: limits, isShared: isCluster && fault != .answersWhileStoring)
    }

    /// Runs to the end, with a rest now and then, and says what did not hold.
    func run(rounds: Int, steps: Int) -> [String] {
        for _ in 0..<rounds where problems.isEmpty {
            wantsRest = false
            for _ in 0..<steps where problems.isEmpty && !wantsRest { step() }
            settle()
            if problems.isEmpty { checkRest(of: devices.filter(isConnected)) }
        }
        for device in devices { connect(device) }
        settle()
        if problems.isEmpty { checkRest(of: devices, isEnd: true) }
        if problems.isEmpty { checkEnd() }
        return problems
    }

    private func step() {
        stepCount += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<17: submit()
        case 17..<40: threadStep()
        case 40..<59: callStep()
        case 59..<72: deviceStep()
        case 72..<81: acknowledgementStep()
        case 81..<84: if let device = devices.randomElement(using: &random) { connect(device) }
        case 84..<87: breakConnection()
        case 87..<90: detachStep()
        case 90..<95: timeStep()
        case 95: powerStep()
        case 96..<98: if isCluster { nodeStep() } else { timeStep() }
        case 98: appStep()
        default: if chance(10) || diesOften && !talking.isEmpty { crash() } else { sweep() }
        }
        if isCluster, chance(messagePace) { messageStep() }
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// What the clocks say.
    var moment: Moment { Example.now(now) }

    /// A node that runs.
    func someNode() -> Node? { nodes.filter(\.isUp).randomElement(using: &random) }

    // MARK: Time

    private func timeStep() {
        now = now.advanced(by: .milliseconds(Int.random(in: chance(5) ? 0...1500 : 0...30, using: &random)))
        tick()
        endLeases()
    }

    private func tick() {
        for node in nodes where node.isUp {
            let actions = node.acceptances.tick(now: moment.uptime)
            node.startThread(node.advanced(actions))
            tickLines(of: node)
        }
    }

    // MARK: Threads

    /// One thread does the next thing it has to do, and then has to do what follows from it.
    private func threadStep() {
        guard let node = someNode(), let index = node.threads.indices.randomElement(using: &random) else { return }
        perform(index, on: node)
    }

    private func perform(_ index: Int, on node: Node) {
        var thread = node.threads.remove(at: index)
        let work = thread.removeFirst()
        thread = perform(work, on: node) + thread
        if !thread.isEmpty { node.threads.insert(thread, at: min(index, node.threads.count)) }
    }

    private func perform(_ work: Node.Work, on node: Node) -> [Node.Work] {
        switch work {
        case .acceptance(.answer(_, let ticket, let outcome)):
            answer(ticket, outcome)
        case .store(let entries):
            if fault == .answersBeforeCommit {
                for entry in entries { answer(entry.notification.number, .accepted) }
            }
            node.calls.append(.storing(entries))
        case .acceptance(.announce(let stored, let offer)):
            guard fault != .announcesNothing else { return [] }
            return announce(stored, offer: offer, by: node)
        case .acceptance(.remove(let reference)), .line(.remove(let reference), _):
            node.calls.append(.removing(reference))
        case .line(.readMailboxes(let epoch), let device):
            node.calls.append(.reading(device, epoch: epoch))
        case .line(.acknowledged(let attempt), _):
            let removal = attempt.reference.map { [Node.Work.acceptance(.remove($0))] } ?? []
            guard let offer = attempt.offer else { return removal }
            return report(offer, of: attempt.destination, isAcknowledged: true, by: node) + removal
        case .line(.returned(let offer, let destination), _):
            return report(offer, of: destination, isAcknowledged: false, by: node)
        case .acceptance(.note(let step, let subject)): noteStep(step, of: subject)
        case .line(.send, _), .line(.note, _), .acceptance(.limitExceeded): break
        }
        return []
    }

    // MARK: The end

    /// Lets everything come to rest: no node is down or cut off, the store does not fail, and devices acknowledge all they
    /// have.
    private func settle() {
        isSettling = true
        defer { isSettling = false }
        for node in nodes { repair(node) }
        for _ in 0..<20_000 where problems.isEmpty {
            if let node = nodes.first(where: { !$0.threads.isEmpty }) {
                perform(0, on: node)
            } else if !messages.isEmpty {
                messageStep()
            } else if nodes.contains(where: { !$0.calls.isEmpty }) {
                callStep()
            } else if devices.contains(where: \.isBusy) {
                for device in devices { settle(device) }
            } else if nodes.contains(where: { !$0.acceptances.isEmpty }) {
                now = now.advanced(by: limits.acknowledgementGrace)
                tick()
            } else if nodes.contains(where: { $0.lines.values.contains { $0.line.deadline != nil } }) {
                now = now.advanced(by: limits.burstInterval)
                tick()
            } else {
                return
            }
        }
        if problems.isEmpty { problems.append("it does not come to rest") }
    }
}
