import Connections
import Delivery
import HTTP2
import NIOCore
import Synchronization

/// The connection to another node after both greetings: one stream of an HTTP/2 connection, on which both nodes send
/// records. Any thread may send.
final class PeerLink: Sendable {
    let node: NodeID
    /// The origin that names the other node's offers.
    let origin: OfferOrigin
    /// Whether the other node understands broadcasts.
    let takesBroadcasts: Bool
    /// Whether the other node sends barriers back.
    private let takesBarriers: Bool
    private let takesSubscriptions: Bool
    /// Whether the other node answers questions about devices.
    let answersDeviceQuestions: Bool
    private let eventLoop: any EventLoop
    private let limits: PeerLimits
    private let openingTime = NIODeadline.now()
    private let queue = Mutex(Queue())
    private let offers = Mutex(Offers())
    private let lateRecords = Mutex(LateRecords())
    private let connection: NIOLoopBound<PeerConnection>

    /// The records that wait to be sent.
    private struct Queue {
        var records = ByteBuffer()
        var isScheduled = false
        var isClosed = false
    }

    private struct Offers {
        var open: [UInt64: OpenOffer] = [:]
        var isClosed = false
    }

    /// The log questions that this node is answering for the other one, and the questions about devices.
    let logAnswers: OpenAnswers
    let deviceAnswers: OpenAnswers

    private struct OpenOffer {
        let id: OfferID
        let destination: Destination
    }

    /// Must be called on the connection's event loop.
    init(
        _ connection: PeerConnection,
        node: NodeID,
        origin: OfferOrigin,
        takesBroadcasts: Bool,
        takesBarriers: Bool,
        takesSubscriptions: Bool,
        answersDeviceQuestions: Bool,
        limits: PeerLimits,
    ) {
        eventLoop = connection.eventLoop
        self.connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        self.node = node
        self.origin = origin
        self.takesBroadcasts = takesBroadcasts
        self.takesBarriers = takesBarriers
        self.takesSubscriptions = takesSubscriptions
        self.answersDeviceQuestions = answersDeviceQuestions
        self.limits = limits
        logAnswers = OpenAnswers(limit: limits.openQuestions)
        deviceAnswers = OpenAnswers(limit: limits.openDeviceQuestions)
    }

    // MARK: Sending

    /// - Returns: true if the offer was sent or will be. If the link ends before the outcome arrives, ``end()``
    ///   returns the offer.
    func offer(_ offer: Offer, epoch: UInt64) -> Bool {
        guard NIODeadline.now() - openingTime >= limits.settling, takes(offer.destination) else { return false }
        if let id = offer.id {
            let hasRoom = offers.withLock { offers in
                guard !offers.isClosed, offers.open.count < limits.openOffers else { return false }
                offers.open[id.number] = OpenOffer(id: id, destination: offer.destination)
                return true
            }
            guard hasRoom else { return false }
        }
        guard send(.offer(offer, epoch: epoch)) else {
            // If the link has ended meanwhile, `end()` has returned the offer or will return it.
            guard let id = offer.id else { return false }
            return offers.withLock { $0.open.removeValue(forKey: id.number) } == nil
        }
        return true
    }

    /// Whether the other node knows such a destination. If not, a message of Web Push stays in its queue until the device
    /// connects to a node that does.
    func takes(_ destination: Destination) -> Bool { takesSubscriptions || !destination.isSubscription }

    /// - Returns: false if the queue has no room for the record.
    @discardableResult
    func send(_ record: PeerRecord) -> Bool {
        let (isTaken, isFirst) = queue.withLock { queue -> (Bool, Bool) in
            guard !queue.isClosed, queue.records.readableBytes < limits.queuedBytes else { return (false, false) }
            record.write(to: &queue.records)
            defer { queue.isScheduled = true }
            return (true, !queue.isScheduled)
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.connection.value.writeRecords() } }
        return isTaken
    }

    /// Returns the waiting records, and empties the queue. Must be called on the event loop.
    /// - Returns: nil if no record waits.
    func drainRecords() -> ByteBuffer? {
        queue.withLock { queue in
            guard queue.records.readableBytes > 0 else {
                queue.isScheduled = false
                return nil
            }
            defer { queue.records = ByteBuffer() }
            return queue.records
        }
    }

    // MARK: Records that come too late

    /// Refuses what the other node has sent before this call for these destinations; nil for all.
    func refuseEarlier(for destinations: [Destination]?, isEnded: Bool) {
        guard takesBarriers else { return }
        sendBarrier(lateRecords.withLock { $0.refuse(destinations, isEnded: isEnded) })
    }

    /// Handles a barrier that the other node has sent back.
    func barrierPassed(_ barrier: UInt64) { sendBarrier(lateRecords.withLock { $0.barrierPassed(barrier) }) }

    private func sendBarrier(_ barrier: UInt64?) {
        // Without an answer, the destinations would be refused for ever. If the answer does not come because the connection has
        // stalled, those of PINGs do not come either, which ends it.
        if let barrier, !send(.barrier(barrier)) { close() }
    }

    /// Whether the offer comes too late. One with a single attempt waits for nothing, so it may come after a newer one.
    func refuses(_ offer: Offer) -> Bool {
        takesBarriers
            && lateRecords.withLock {
                offer.id == nil ? $0.mayHaveEnded(offer.destination) : $0.refusesOffer(for: offer.destination)
            }
    }

    /// Whether the news of a stored notification has to be ignored.
    func ignoresStored(for destination: Destination) -> Bool {
        takesBarriers && lateRecords.withLock { $0.mayHaveEnded(destination) }
    }

    // MARK: Outcomes

    /// Forgets an offer whose outcome is no longer needed.
    func forget(_ offer: OfferID) { offers.withLock { _ = $0.open.removeValue(forKey: offer.number) } }

    /// Removes the open offer whose outcome has arrived.
    /// - Returns: nil if there is no such open offer.
    func takeOffer(_ number: UInt64) -> (id: OfferID, destination: Destination)? {
        offers.withLock { $0.open.removeValue(forKey: number) }.map { ($0.id, $0.destination) }
    }

    /// Ends the link.
    /// - Returns: the offers whose outcomes will not arrive.
    func end() -> [(id: OfferID, destination: Destination)] {
        queue.withLock { queue in
            queue.isClosed = true
            queue.records = ByteBuffer()
        }
        return offers.withLock { offers in
            offers.isClosed = true
            defer { offers.open = [:] }
            return offers.open.values.map { ($0.id, $0.destination) }
        }
    }

    /// Ends the connection, because another one has replaced it or the node has gone.
    func close() {
        eventLoop.execute { self.connection.value.close() }
    }
}
