import Connections
import Delivery
import HTTP2
import NIOCore
import Synchronization

/// The connection to another node, as soon as both have greeted each other: one stream of an HTTP/2 connection, on which
/// each sends records. Any thread may send.
final class PeerLink: Sendable {
    let node: NodeID
    /// What the other node's offers are named by.
    let origin: OfferOrigin
    private let eventLoop: any EventLoop
    private let limits: PeerLimits
    private let opened = NIODeadline.now()
    private let inbox = Mutex(Inbox())
    private let offers = Mutex(Offers())
    private let connection: NIOLoopBound<PeerConnection>

    private struct Inbox {
        var records = ByteBuffer()
        var isScheduled = false
        var isClosed = false
    }

    private struct Offers {
        var open: [UInt64: OpenOffer] = [:]
        var isClosed = false
    }

    /// The number of questions that are being answered.
    private let answers = Mutex(0)

    private struct OpenOffer {
        let id: OfferID
        let destination: Destination
    }

    /// On the connection's event loop.
    init(_ connection: PeerConnection, node: NodeID, origin: OfferOrigin, limits: PeerLimits) {
        eventLoop = connection.eventLoop
        self.connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        self.node = node
        self.origin = origin
        self.limits = limits
    }

    // MARK: Sending

    /// - Returns: Whether the offer is on its way. If the link ends before there is an outcome, ``closed()`` returns it.
    func offer(_ offer: Offer, epoch: UInt64) -> Bool {
        guard NIODeadline.now() - opened >= limits.settling else { return false }
        if let id = offer.id {
            let hasRoom = offers.withLock { offers in
                guard !offers.isClosed, offers.open.count < limits.openOffers else { return false }
                offers.open[id.number] = OpenOffer(id: id, destination: offer.destination)
                return true
            }
            guard hasRoom else { return false }
        }
        guard send(.offer(offer, epoch: epoch)) else {
            // If the link has ended meanwhile, the outcome was or is reported.
            guard let id = offer.id else { return false }
            return offers.withLock { $0.open.removeValue(forKey: id.number) } == nil
        }
        return true
    }

    /// - Returns: Whether there was room for it.
    @discardableResult
    func send(_ record: PeerRecord) -> Bool {
        let (isTaken, isFirst) = inbox.withLock { inbox -> (Bool, Bool) in
            guard !inbox.isClosed, inbox.records.readableBytes < limits.queuedBytes else { return (false, false) }
            record.write(to: &inbox.records)
            defer { inbox.isScheduled = true }
            return (true, !inbox.isScheduled)
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.connection.value.writeRecords() } }
        return isTaken
    }

    /// Takes what waits. On the event loop.
    /// - Returns: nil if nothing waits.
    func takeRecords() -> ByteBuffer? {
        inbox.withLock { inbox in
            guard inbox.records.readableBytes > 0 else {
                inbox.isScheduled = false
                return nil
            }
            defer { inbox.records = ByteBuffer() }
            return inbox.records
        }
    }

    /// - Returns: Whether the other node has not asked for too much at a time.
    func beginAnswer() -> Bool {
        answers.withLock { answers in
            guard answers < limits.openQuestions else { return false }
            answers += 1
            return true
        }
    }

    func endAnswer() { answers.withLock { $0 -= 1 } }

    // MARK: Outcomes

    /// - Returns: The offer whose outcome has come; nil for one that is not open.
    func end(_ offer: UInt64) -> (id: OfferID, destination: Destination)? {
        offers.withLock { $0.open.removeValue(forKey: offer) }.map { ($0.id, $0.destination) }
    }

    /// Ends the link.
    /// - Returns: The offers whose outcomes will not come.
    func closed() -> [(id: OfferID, destination: Destination)] {
        inbox.withLock { inbox in
            inbox.isClosed = true
            inbox.records = ByteBuffer()
        }
        return offers.withLock { offers in
            offers.isClosed = true
            defer { offers.open = [:] }
            return offers.open.values.map { ($0.id, $0.destination) }
        }
    }

    /// Ends the connection, because another one has replaced it or the node is gone.
    func close() {
        eventLoop.execute { self.connection.value.close() }
    }
}
