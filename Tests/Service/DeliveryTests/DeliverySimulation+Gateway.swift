import Notifications

@testable import Delivery

/// Providers' connections, which submit notifications one after the other.
extension DeliverySimulation {
    /// Identifies a connection: its number on one start of a node.
    struct Connection: Hashable {
        let start: UInt64
        let number: Int
    }

    func submit() {
        guard var node = someNode(), var destination = destinations.randomElement(using: &random) else { return }
        // A single node has only one connection, which is the same one after a restart.
        var connection = Connection(start: isCluster ? node.start : 0, number: isCluster && chance(50) ? 1 : 0)
        if isCluster {
            // A provider often has another notification to the same destination after it got an answer.
            if chance(40), let last = lastAccepted(),
                let same = nodes.first(where: { $0.start == last.connection.start && $0.isUp })
            {
                (node, destination, connection) = (same, last.destination, last.connection)
            }
            if chance(20) { learn(destination.deviceKey, node) }
        }
        request(to: destination, on: connection, at: node)
    }

    /// A provider sends a notification.
    private func request(to destination: Destination, on connection: Connection, at node: Node) {
        let submission = submission(UInt64(records.count + 1), to: destination)
        records.append(
            Record(
                destination: destination, connection: connection, urgency: submission.notification.urgency,
                isSilent: submission.notification.isSilent, answeredBefore: answered(destination)))
        if node.stoppedSince == nil {
            arrive(submission, on: connection, at: node)
        } else {
            node.unread.append((submission, connection))
        }
    }

    /// A provider waits long enough for a node that is stopped. Then it gives up the requests there, and sends each of
    /// them, or a newer one, through another node.
    func giveUp(_ node: Node) {
        pass(limits.promptStoring + .milliseconds(1))
        let running = nodes.filter { $0.isUp && $0.stoppedSince == nil }
        guard let other = running.randomElement(using: &random) else { return }
        let open = node.unread.map { $0.submission }.filter { !records[Int($0.ticket) - 1].isGivenUp }
        for submission in open { records[Int(submission.ticket) - 1].isGivenUp = true }
        for submission in open {
            request(to: submission.destination, on: Connection(start: other.start, number: 0), at: other)
        }
    }

    /// A node reads a request.
    func arrive(_ submission: Submission, on connection: Connection, at node: Node) {
        let destination = submission.destination
        if node.lookUps[connection] != nil, fault != .overtakesLookUp || isCold(destination, at: node) {
            node.lookUps[connection]?.append(submission)
        } else if isCold(destination, at: node) {
            node.lookUps[connection] = [submission]
            node.calls.append(.lookingUp(connection))
        } else {
            accept(submission, on: node)
        }
    }

    /// The submission after which a provider has another. A link that has stalled shows defects only if its offers are
    /// followed by newer ones.
    private func lastAccepted() -> Record? {
        let late = stalledOffers.map { records[Int($0.offer.notification.number) - 1] }.filter(\.isAccepted)
        if !late.isEmpty, chance(70) { return late.randomElement(using: &random) }
        return records.suffix(20).filter(\.isAccepted).randomElement(using: &random)
    }

    /// Whether the node has to ask the store for the registration.
    private func isCold(_ destination: Destination, at node: Node) -> Bool {
        isCluster && node.known[destination] == nil
    }

    /// Whether the app is on its device, as far as the node knows. This may be slightly out of date.
    private func isActive(_ destination: Destination, at node: Node) -> Bool {
        isCluster ? node.known[destination] == true : active.contains(destination)
    }

    private func accept(_ submission: Submission, on node: Node) {
        let (number, destination) = (submission.ticket, submission.destination)
        if node.wasStopped, fault != .acceptsAfterStop { return answer(number, .rejected(.nodeWasStopped)) }
        guard isActive(destination, at: node) else { return answer(number, .rejected(Rejection(.unregistered))) }
        guard let expires = limits.expiry(of: submission.notification, now: now) else {
            _ = offer(Offer(id: nil, destination: destination, notification: submission.notification), by: node)
            return answer(number, .accepted)
        }
        records[Int(number) - 1].expires = expires
        records[Int(number) - 1].accepted = (now, stores)
        let id = node.acceptances.nextOffer()
        let offer = Offer(id: id, destination: destination, notification: submission.notification)
        let answer = node.acceptances.mustFollow(destination) ? .returned : self.offer(offer, by: node)
        let actions = node.acceptances.accept(
            submission, answers: Example.answers, offer: id, answered: answer, expires: expires, now: moment.uptime)
        node.startThread(node.advanced(actions, now: moment.uptime))
        stallSometimes(id, of: destination.deviceKey, by: node)
    }

    /// Handles the store's answer to a look-up of registrations. The submissions that waited for it are accepted in
    /// their order, up to the next one that needs a look-up.
    /// - Parameter isAnswered: false if the store could not be reached.
    func lookedUp(_ connection: Connection, isAnswered: Bool, on node: Node) {
        guard var waiting = node.lookUps.removeValue(forKey: connection) else { return }
        while let first = waiting.first {
            guard isAnswered || !isCold(first.destination, at: node) else {
                answer(first.ticket, .rejected(Rejection(.serviceUnavailable)))
                waiting.removeFirst()
                continue
            }
            if isCold(first.destination, at: node) {
                node.lookUps[connection] = waiting
                node.calls.append(.lookingUp(connection))
                return
            }
            waiting.removeFirst()
            accept(first, on: node)
        }
    }

    private func submission(_ number: UInt64, to destination: Destination) -> Submission {
        let isSilent = chance(15)
        let priority: Priority =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .low
            case 1...3: .considerate
            default: isSilent ? .considerate : .immediate
            }
        return Example.submission(
            number, to: destination, expiration(), priority: priority, isSilent: isSilent,
            collapseID: !isCluster && number.isMultiple(of: 3) ? "a" : nil)
    }

    private func expiration() -> Expiration {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .immediately
        case 1: .at(now.seconds - 1)
        case 2...4: .at(now.seconds + .random(in: 1...3, using: &random))
        default: .unspecified
        }
    }
}
