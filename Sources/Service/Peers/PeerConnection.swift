import Connections
import Delivery
import HTTP2
import NIOCore
import Notifications

/// One HTTP/2 connection between two nodes, on the calling or the called side. The node that connects makes one
/// request. The bodies of the request and of its answer never end, and carry records. The connection's event loop must
/// make all calls.
final class PeerConnection: HTTP2Connection {
    let eventLoop: any EventLoop
    private let peers: Peers
    private let role: HTTP2Session.Role
    /// Nil if this side was called.
    private let calledNode: NodeID?
    /// Whether the other side presented a node's certificate.
    private let isTrusted: Bool
    private var session: HTTP2Session?
    private var stream: StreamID?
    private var greeting = PeerGreeting()
    private var link: PeerLink?
    private var unreadBytes = ByteBuffer()
    private var mayWrite = true
    private let start = NIODeadline.now()
    private var lastHeard = NIODeadline.now()
    private var lastPing = NIODeadline.now()
    private var clock: RepeatedTask?
    private let ended: EventLoopPromise<Void>?

    /// Creates the side that was called.
    init(_ peers: Peers, isTrusted: Bool, eventLoop: any EventLoop) {
        self.peers = peers
        self.isTrusted = isTrusted
        self.eventLoop = eventLoop
        role = .server
        calledNode = nil
        ended = nil
    }

    /// Creates the side that calls.
    /// - Parameter ended: succeeds when the connection has ended; fails with ``PeerCaller/NoAnswer`` if that was before
    ///   the other node's greeting.
    init(_ peers: Peers, to node: NodeID, ended: EventLoopPromise<Void>) {
        self.peers = peers
        isTrusted = true
        eventLoop = ended.futureResult.eventLoop
        role = .client
        calledNode = node
        self.ended = ended
    }

    // MARK: The connection

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        guard role == .client else { return isTrusted ? () : session.close() }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        clock = eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            bound.value.tick(now: .now())
        }
        do {
            stream = try session.request(peers.greeting.request, endStream: false)
        } catch {
            session.close()
        }
    }

    /// Ends the connection if the other node is silent for too long: it may be dead although its machine keeps the
    /// connection open.
    func tick(now: NIODeadline) {
        let isGreeted = link != nil
        guard isGreeted || now - start < peers.limits.connectTimeout, now - lastHeard < peers.limits.silence else {
            return close()
        }
        guard now - lastPing >= peers.limits.pingInterval else { return }
        lastPing = now
        session?.ping(0)
    }

    var hasShownTrust: Bool { isTrusted }

    func drain() { close() }

    func close() {
        session?.goAway(.noError)
        session?.close()
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        clock?.cancel()
        clock = nil
        guard let link else {
            ended?.fail(PeerCaller.NoAnswer(end: end))
            return
        }
        peers.closed(link)
        self.link = nil
        ended?.succeed()
    }

    // MARK: The greeting

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        // The calling node uses only one stream. Ignore any other.
        if role == .server, self.stream == nil { self.stream = stream }
        if stream == self.stream { fields.forEach { name, value, _ in greeting.read(name: name, value: value) } }
        guard stream == self.stream, !endStream, link == nil, let session, let (node, origin) = greeting.contents,
            calledNode == nil || calledNode == node, node != peers.greeting.node
        else { return close() }
        if role == .server {
            session.allowEndlessBody(stream)
            session.sendHeaders(stream, peers.greeting.answer, endStream: false)
        }
        let link = PeerLink(
            self, node: node, origin: origin, takesBroadcasts: greeting.takesBroadcasts,
            takesBarriers: greeting.takesBarriers, takesSubscriptions: greeting.takesSubscriptions,
            answersDeviceQuestions: greeting.answersDeviceQuestions,
            limits: peers.limits)
        self.link = link
        peers.opened(link)
    }

    func streamEnded(_ stream: StreamID) { if stream == self.stream { close() } }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) { if stream == self.stream { close() } }

    func pingAcknowledged(_ payload: UInt64) { lastHeard = .now() }

    func pingReceived() { lastHeard = .now() }

    // MARK: Records

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard stream == self.stream, let link else { return }
        lastHeard = .now()
        bytes.withUnsafeBytes { _ = unreadBytes.writeBytes($0) }
        do throws(PeerRecord.Malformed) {
            while let record = try PeerRecord.read(from: &unreadBytes, maximumBytes: peers.limits.recordBytes) {
                peers.received(record, from: link)
            }
        } catch {
            return close()
        }
        unreadBytes.discardReadBytes()
    }

    /// Writes the waiting records. Records that wait together go out in one write.
    func writeRecords() {
        guard let link, let session, let stream, mayWrite else { return }
        while mayWrite, let records = link.drainRecords() {
            switch session.write(stream, records, schedulesFlush: false) {
            case .more: break
            case .wait: mayWrite = false
            case .closed: return close()
            }
        }
        session.flush()
    }

    func writable(_ stream: StreamID) {
        guard stream == self.stream else { return }
        mayWrite = true
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute { bound.value.writeRecords() }
    }
}
