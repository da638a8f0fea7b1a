import CommonTesting
import Notifications
import Rates

@testable import Delivery

/// Simulates the delivery of notifications, with all randomness from a seed: the two state machines, a model of the
/// store, nodes that share it, devices that connect and disappear, and the time at which each event happens.
///
/// A step is one event: a submission, one action of a thread, one stage of a call to the store, one message between
/// nodes, the arrival of a notification or an acknowledgement, a connection that is made or breaks, the removal of an
/// app, the passing of time, or a node that dies, is cut off or is stopped. The seed chooses the event.
/// `DeliverySimulation+Checks.swift` has the rules that must hold.
final class DeliverySimulation {
    /// Defects that can be planted in the simulation, to check that the rules find them.
    enum Fault: CaseIterable {
        /// The 200 is given before the notification is on disk.
        case answersBeforeCommit
        /// An acknowledgement empties the mailbox, whatever is in it.
        case removesWhateverIsThere
        /// Expired notifications are delivered.
        case deliversExpired
        /// The mailbox keeps the older notification, but reports that it has stored the newer one.
        case losesReplacement
        /// A connection reads the mailboxes first and attaches afterwards.
        case readsBeforeAttaching
        /// Each connection numbers its attempts from the same start.
        case numbersStartAgain
        /// Stored notifications are not announced.
        case announcesNothing
        /// A reading that was begun for an older connection is used for the newer one.
        case staleEpochSends
        /// Every device counts as awake.
        case wakesDevices
        /// Silent notifications are not counted.
        case countsNoSilents
        /// Storing does not check that the app is on its device.
        case storesForRemoved
        /// The offers of all nodes have the same names.
        case offersCollide
        /// A line numbers its attempts by its node's clock only, and ignores the number in the device's lease.
        case numbersByClock
        /// A stored notification is announced to the last known node of the device.
        case announcesByHint
        /// An offer overtakes an earlier announcement of the same node about the device.
        case offersOvertake
        /// A submission after a look-up on the same connection is accepted before it.
        case overtakesLookUp
        /// A node that is cut off keeps its streams after its leases have run out.
        case keepsStreams
        /// A notification that the device acknowledges while it is being stored is answered before the store has
        /// answered.
        case answersWhileStoring
        /// A node that has lost another does not read its devices' mailboxes again.
        case forgetsLostNode
        /// An announcement is lost with the connection between two nodes, because it is nowhere else.
        case losesAnnouncements
        /// A node answers an offer when it sends it, and again when the device acknowledges it.
        case answersOffersTwice
        /// A node takes an offer that was made for an earlier hold on the device, even if it comes too late.
        case takesEarlierEpochs
        /// A node takes an offer that was made before something that has come through the store.
        case takesLateOffers
        /// A notification with a single attempt is discarded while another one for the app waits.
        case discardsSingleAttempts
        /// A notification is stored again over another that was stored since its first attempt.
        case repeatsOverNewer
        /// A node that is late stores what it had over what another node has stored meanwhile.
        case storesLate
        /// The store does not ask when a notification was accepted whose statement was late on its way.
        case storesDelayed
        /// The store refuses notifications that were accepted when the other one had been stored.
        case refusesNewer
        /// A node that was stopped accepts the requests that came meanwhile, which their provider has given up.
        case acceptsAfterStop

        /// A mailbox that keeps more keeps the newest alone.
        case keepsNewestAlone
        /// What a mailbox keeps is read backwards.
        case readsBackwards

        /// Whether only a mailbox that keeps more shows it.
        var needsKeeping: Bool { self == .keepsNewestAlone || self == .readsBackwards }

        /// How many nodes are needed to find it.
        var nodes: Int {
            switch self {
            case .offersCollide, .numbersByClock, .announcesByHint, .offersOvertake, .overtakesLookUp, .keepsStreams,
                .answersWhileStoring, .forgetsLostNode, .losesAnnouncements, .answersOffersTwice,
                .takesEarlierEpochs, .takesLateOffers, .repeatsOverNewer, .storesLate, .storesDelayed, .refusesNewer,
                .acceptsAfterStop:
                3
            default: 1
            }
        }

        /// A seed that finds it. `A planted defect is found` prints another one if the simulation has changed and this one no
        /// longer does.
        var knownSeed: UInt64 {
            switch self {
            case .announcesByHint, .repeatsOverNewer, .storesLate: 1
            case .readsBeforeAttaching: 3
            case .offersCollide: 4
            case .numbersStartAgain: 7
            case .takesEarlierEpochs: 27
            case .overtakesLookUp: 57
            case .keepsStreams: 67
            case .takesLateOffers: 69
            case .answersWhileStoring: 75
            case .staleEpochSends: 80
            case .losesAnnouncements: 130
            case .forgetsLostNode: 743
            case .offersOvertake: 746
            default: 0
            }
        }

        /// Whether only an offer that arrives late shows it.
        var needsStalls: Bool {
            switch self {
            case .takesEarlierEpochs, .takesLateOffers: true
            default: false
            }
        }

        /// Whether only a node that was stopped shows it.
        var needsStops: Bool { self == .acceptsAfterStop }
    }

    let fault: Fault?
    var random: SeededGenerator
    var now = Example.moment
    var limits = DeliveryLimits()
    /// The percentage of steps in which a message moves on. If it is high, messages arrive soon. If it is low, many
    /// other events happen before they arrive.
    private let messagePace: Int
    /// Whether nodes often die while they have something to announce.
    let diesOften: Bool
    /// Whether connections between nodes stall.
    let hasStalls: Bool
    /// Whether nodes are stopped for a while.
    let hasStops: Bool
    /// Whether a connection between nodes that has broken soon breaks again.
    let breaksAgain: Bool
    /// Whether nothing fails any more, and no new notifications come.
    var isSettling = false

    var nodes: [Node] = []
    /// The number of starts of all nodes.
    private var starts: UInt64 = 0
    /// The messages between nodes, in the order in which they were sent.
    var messages: [Message] = []
    /// The links on which offers and outcomes do not arrive for a while.
    var stalled: Set<Link> = []
    /// A link that has broken, and may break again.
    var badLink: Link?
    var leases: [DeviceKey: Lease] = [:]
    /// How often a node has taken each device.
    var epochs: [DeviceKey: UInt64] = [:]
    /// For each device, a number above which its next line begins.
    var floors: [DeviceKey: UInt64] = [:]
    var mailboxes: [Destination: StoredMailboxEntry] = [:]
    /// The contents of mailboxes that keep more than one notification, with the time of storing and the count.
    var kept: [Destination: [Kept]] = [:]
    /// How many notifications the second app keeps; 1 in most runs, so that its mailboxes are as those of the first one.
    let keep: Int
    var lastVersion: UInt64 = 0
    /// How many times something was stored, and when each mailbox's content was: the time and the count.
    var stores = 0
    var storedAt: [Destination: (time: Timestamp, count: Int)] = [:]
    /// The apps that are on their devices.
    var active: Set<Destination> = []
    let devices: [Device]
    let destinations: [Destination]

    /// All submissions. The number of a notification is its index plus one.
    var records: [Record] = []
    /// The last notifications of each destination that were on disk or acknowledged at some time.
    var safe: [Destination: [UInt64]] = [:]
    /// Submissions up to this number may have been dropped with their app.
    var droppedUpTo: [Destination: UInt64] = [:]
    /// The notification of each attempt to a device.
    var numbers: [DeviceKey: [UInt64: UInt64]] = [:]
    var problems: [String] = []
    /// Whether to let everything come to rest soon, so that later events do not hide a fault.
    var wantsRest = false
    private(set) var stepCount = 0

    /// - Parameter nodes: the number of nodes.
    init(seed: UInt64, nodes count: Int = 1, fault: Fault? = nil) {
        self.fault = fault
        isCluster = count > 1
        // With this choice, every combination of settings occurs with every number of nodes.
        messagePace = [100, 50, 25, 10][Int(seed / 3 % 4)]
        diesOften = isCluster && seed / 12 % 2 == 1
        // Most planted defects are found more often without stalls.
        hasStalls = isCluster && seed % 2 == 1 && fault?.needsStalls != false
        hasStops = isCluster && seed % 7 < 3 && fault?.needsStops != false
        breaksAgain = isCluster && seed % 5 == 0
        keep = fault.map(\.needsKeeping) ?? (seed / 2 % 3 == 0) ? 3 : 1
        random = SeededGenerator(seed: seed)
        // In some runs notifications that wait for a device's power are only in the mailbox.
        limits.deferredPerDevice = Int(seed / 24 % 3)
        limits.unacknowledgedPerDevice = 3 + limits.deferredPerDevice / 2
        limits.pendingStoresPerShard = 6
        limits.storesPerBatch = 2
        limits.promptStoring = .milliseconds(200)
        limits.burstInterval = .seconds(3)
        limits.silentsPerApp = Rate(burst: 2, perSecond: 0.5)
        devices = (1...2).map { Device(DeviceKey(environment: .production, device: DeviceID(rawValue: $0))) }
        // In the runs in which an app keeps more, the other one has a subscription of Web Push. Its messages are
        // notifications like others: what a queue does differently from a mailbox that keeps more, the stores' contract says.
        let queues: [UInt32] = keep > 1 ? [0, 1] : [0]
        destinations = devices.flatMap { device in
            (1...2).flatMap { app in
                (app == 1 ? queues : [0]).map { queue in
                    Destination(
                        environment: device.key.environment, device: device.key.device, app: AppID(rawValue: app),
                        queue: queue)
                }
            }
        }
        active = Set(destinations)
        // The clocks of the nodes differ more than those of real machines.
        for number in 0..<count { nodes.append(Node(number, skew: .seconds(2 * number), start())) }
    }

    /// Whether there are several nodes.
    let isCluster: Bool

    /// The initial values of a node.
    func start() -> Node.Start {
        starts += 1
        let origin = OfferOrigin(rawValue: fault == .offersCollide ? 1 : starts)
        return Node.Start(
            number: starts, origin: origin, limits: limits, isShared: isCluster && fault != .answersWhileStoring,
            keeping: KeepingApps(keep > 1 ? [AppID(rawValue: 2)] : []))
    }

    /// Runs to the end, with pauses for rest, and returns the violated rules.
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
        breakAgainSometimes()
        readDuringStall()
        stopSometimes()
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// The time of the simulated clocks.
    var moment: Moment { Example.now(now) }

    /// A running node.
    func someNode() -> Node? { nodes.filter(\.isUp).randomElement(using: &random) }

    // MARK: Time

    private func timeStep() {
        pass(.milliseconds(Int.random(in: chance(5) ? 0...1500 : 0...30, using: &random)))
    }

    func pass(_ time: Duration) {
        now = now.advanced(by: time)
        tick()
        endLeases()
    }

    private func tick() {
        for node in nodes where node.isUp {
            let actions = node.acceptances.tick(now: moment.uptime)
            node.startThread(node.advanced(actions, now: moment.uptime))
            tickLines(of: node)
            renewLease(of: node)
        }
    }

    // MARK: Threads

    /// One thread does its next work, which may give it more work.
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
        case .line(.read(let request), let device):
            // One page has all.
            if request.after == nil { node.calls.append(.reading(device, epoch: request.epoch)) }
        case .acknowledged(let attempt):
            let removal = attempt.reference.map { [Node.Work.acceptance(.remove($0))] } ?? []
            guard let offer = attempt.offer else { return removal }
            return report(offer, of: attempt.destination, isAcknowledged: true, by: node) + removal
        case .line(.returned(let offer, let destination), _):
            return report(offer, of: destination, isAcknowledged: false, by: node)
        case .acceptance(.record(let step, let subject)): recordStep(step, of: subject)
        case .line(.send, _), .line(.record, _), .line(.releaseBroadcasts, _), .acceptance(.limitExceeded): break
        }
        return []
    }

    // MARK: The end

    /// Lets everything come to rest: no node is down or cut off, the store does not fail, and devices acknowledge
    /// everything.
    private func settle() {
        isSettling = true
        defer { isSettling = false }
        for node in nodes { repair(node) }
        for _ in 0..<20_000 where problems.isEmpty {
            if let node = nodes.first(where: { !$0.threads.isEmpty }) {
                perform(0, on: node)
            } else if hasReadyMessage || stalled.isEmpty && !messages.isEmpty {
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
            } else if !stalled.isEmpty {
                // Not earlier, so that what was under way meets lines that have read their mailboxes.
                stalled = []
            } else {
                return
            }
        }
        if problems.isEmpty { problems.append("it does not come to rest") }
    }
}
