@testable import Delivery
import Notifications
import CommonTesting
import Rates

/// The whole way of notifications under a seed's control: the two state machines, a model of the mailboxes, devices
/// that come and go, and everything that happens at its own time between them.
///
/// A step is one thing that happens: a submission, one action of one thread, one stage of one call to the store, one
/// notification or acknowledgement arriving, a connection made or broken, time going by, the service dying. The seed
/// chooses which. What must hold is in `DeliverySimulation+Checks.swift`.
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
        /// Each connection numbers its sendings from the start.
        case numbersStartAgain
        /// What is stored is told to nobody.
        case announcesNothing
        /// A reading begun for an older connection counts for the newer one.
        case staleEpochSends
        /// Every device counts as awake.
        case wakesDevices
        /// Silent notifications are not counted.
        case countsNoSilents
    }

    /// What one thread of the service has still to do, in order.
    typealias Thread = [Work]

    enum Work {
        case acceptance(Acceptances.Action)
        case line(DeviceLine.Action, DeviceKey)
    }

    /// A call to the store that is under way.
    enum Call {
        case storing([MailboxEntry])
        case storingAgain([MailboxEntry], [Int], results: [Result<MailboxVersion, StoreError>])
        case stored([Result<MailboxVersion, StoreError>])
        case reading(DeviceKey, epoch: UInt64)
        case read(DeviceKey, epoch: UInt64, [StoredMailboxEntry]?)
        /// Only with ``Fault/readsBeforeAttaching``.
        case attaching(DeviceKey, Stream, [StoredMailboxEntry])
        case removing(MailboxReference)
    }

    let fault: Fault?
    var random: SeededGenerator
    var now = Example.moment
    var limits = DeliveryLimits()
    /// Nothing fails and nothing new comes.
    var isSettling = false

    var acceptances: Acceptances
    var lines: [DeviceKey: AttachedLine] = [:]
    var silents: DeviceLine.Silents
    /// The number of the newest sending to each device that this process knows of.
    var newestNumbers: [DeviceKey: UInt64] = [:]
    var threads: [Thread] = []
    var calls: [Call] = []
    var mailboxes: [Destination: StoredMailboxEntry] = [:]
    var lastVersion: UInt64 = 0
    let devices: [Device]

    /// Everything ever submitted; a notification's number is its index and one.
    var records: [Record] = []
    /// The newest notification of each destination that was on disk or taken by the device at some time.
    var newestSafe: [Destination: UInt64] = [:]
    /// When silent notifications were sent since the process began.
    var silentSendings: [Destination: [Timestamp]] = [:]
    /// Which notification each sending to a device was.
    var numbers: [DeviceKey: [UInt64: UInt64]] = [:]
    var problems: [String] = []

    init(seed: UInt64, fault: Fault? = nil) {
        self.fault = fault
        random = SeededGenerator(seed: seed)
        limits.unacknowledgedPerDevice = 3
        limits.pendingStoresPerShard = 6
        limits.storesPerBatch = 2
        limits.burstInterval = .seconds(3)
        limits.silentsPerApp = Rate(burst: 2, perSecond: 0.5)
        silents = DeviceLine.Silents(limits.silentsPerApp)
        acceptances = Acceptances(limits: limits)
        devices = (1...2).map { Device(DeviceKey(environment: .production, device: DeviceID(rawValue: $0))) }
    }

    /// Runs to the end, with a rest now and then, and says what did not hold.
    func run(rounds: Int, steps: Int) -> [String] {
        for _ in 0..<rounds where problems.isEmpty {
            for _ in 0..<steps where problems.isEmpty { step() }
            settle()
            if problems.isEmpty { checkRest(of: devices.filter { lines[$0.key] != nil }) }
        }
        for device in devices { connect(device) }
        settle()
        if problems.isEmpty { checkRest(of: devices, isEnd: true) }
        if problems.isEmpty { checkEnd() }
        return problems
    }

    private func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<18: submit()
        case 18..<42: threadStep()
        case 42..<62: callStep()
        case 62..<75: deviceStep()
        case 75..<84: acknowledgementStep()
        case 84..<87: if let device = devices.randomElement(using: &random) { connect(device) }
        case 87..<90: breakConnection()
        case 90..<93: detachStep()
        case 93..<98: timeStep()
        case 98: powerStep()
        default: if chance(10) { crash() } else { sweep() }
        }
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: The gateway

    private func submit() {
        guard let device = devices.randomElement(using: &random) else { return }
        let destination = Example.destination(app: .random(in: 1...2, using: &random), on: device.key)
        let number = UInt64(records.count + 1)
        let submission = submission(number, to: destination)
        let expires = limits.expiry(of: submission.notification, now: now)
        records.append(
            Record(
                destination: destination, expires: expires, urgency: submission.notification.urgency,
                isSilent: submission.notification.isSilent, answeredBefore: answered(destination)))
        guard let expires else {
            _ = offer(Offer(id: nil, destination: destination, notification: submission.notification))
            return answer(number, .accepted)
        }
        let id = acceptances.nextOffer()
        let offer = Offer(id: id, destination: destination, notification: submission.notification)
        let answer = acceptances.mustFollow(destination) ? .returned : self.offer(offer)
        let actions = acceptances.accept(
            submission, answers: Example.answers, offer: id, answered: answer, expires: expires, now: moment.uptime)
        startThread(advanced(actions))
    }

    private func submission(_ number: UInt64, to destination: Destination) -> Submission {
        let isSilent = chance(15)
        let priority: Priority =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .low
            case 1...3: .considerate
            default: isSilent ? .considerate : .immediate
            }
        return Example.submission(number, to: destination, expiration(), priority: priority, isSilent: isSilent)
    }

    /// What the clocks say.
    var moment: Moment { Example.now(now) }

    private func expiration() -> Expiration {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .immediately
        case 1: .at(now.seconds - 1)
        case 2...4: .at(now.seconds + .random(in: 1...3, using: &random))
        default: .unspecified
        }
    }

    private func timeStep() {
        now = now.advanced(by: .milliseconds(Int.random(in: chance(5) ? 0...1500 : 0...30, using: &random)))
        tick()
    }

    private func tick() {
        let actions = acceptances.tick(now: moment.uptime)
        startThread(advanced(actions))
        tickLines()
    }

    /// What the driver does after every event.
    func advanced(_ actions: [Acceptances.Action]) -> [Work] {
        let batch = acceptances.nextBatch()
        return (actions + batch).map(Work.acceptance)
    }

    func startThread(_ work: [Work]) {
        if !work.isEmpty { threads.append(work) }
    }

    // MARK: Threads

    /// One thread does the next thing it has to do, and then has to do what follows from it.
    private func threadStep() {
        guard let index = threads.indices.randomElement(using: &random) else { return }
        perform(index)
    }

    private func perform(_ index: Int) {
        var thread = threads.remove(at: index)
        let work = thread.removeFirst()
        thread = perform(work) + thread
        if !thread.isEmpty { threads.insert(thread, at: index) }
    }

    private func perform(_ work: Work) -> [Work] {
        switch work {
        case .acceptance(.answer(_, let ticket, let outcome)):
            answer(ticket, outcome)
        case .acceptance(.store(let entries)):
            if fault == .answersBeforeCommit {
                for entry in entries { answer(entry.notification.number, .accepted) }
            }
            calls.append(.storing(entries))
        case .acceptance(.announce(let stored, let offer)):
            guard fault != .announcesNothing else { return [] }
            return announce(stored, offer: offer)
        case .acceptance(.remove(let reference)), .line(.remove(let reference), _):
            calls.append(.removing(reference))
        case .line(.readMailboxes(let epoch), let device):
            calls.append(.reading(device, epoch: epoch))
        case .line(.acknowledged(let sending), _):
            let removal = sending.reference.map { [Work.acceptance(.remove($0))] } ?? []
            guard let offer = sending.offer else { return removal }
            let actions = acceptances.acknowledged(offer, of: sending.destination)
            return advanced(actions) + removal
        case .line(.returned(let offer, let destination), _):
            let actions = acceptances.returned(offer, of: destination)
            return advanced(actions)
        case .line(.send, _), .line(.note, _), .acceptance(.note), .acceptance(.struck):
            break
        }
        return []
    }

    // MARK: The end

    /// Lets everything come to rest, with a store that does not fail and devices that acknowledge all they have.
    private func settle() {
        isSettling = true
        defer { isSettling = false }
        for _ in 0..<10_000 where problems.isEmpty {
            if !threads.isEmpty {
                perform(0)
            } else if !calls.isEmpty {
                callStep()
            } else if devices.contains(where: \.isBusy) {
                for device in devices { settle(device) }
            } else if !acceptances.isEmpty {
                now = now.advanced(by: limits.acknowledgementGrace)
                tick()
            } else if lines.values.contains(where: { $0.line.deadline != nil }) {
                now = now.advanced(by: limits.burstInterval)
                tick()
            } else {
                return
            }
        }
        if problems.isEmpty { problems.append("it does not come to rest") }
    }

    /// The process dies and starts again: only what is on disk is left.
    private func crash() {
        for case .storing(let entries) in calls {
            for entry in entries where chance(50) { commit(entry) }
        }
        for index in records.indices where !records[index].isAnswered { records[index].isForgotten = true }
        acceptances = Acceptances(limits: limits)
        silents = DeviceLine.Silents(limits.silentsPerApp)
        silentSendings = [:]
        lines = [:]
        newestNumbers = [:]
        threads = []
        calls = []
        for device in devices { device.loseConnection() }
        now = now.advanced(by: .milliseconds(1))
    }
}
