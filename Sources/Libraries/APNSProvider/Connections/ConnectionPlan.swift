import Connections
import NIOCore

/// Decides how many connections to open and which one gets the next request. It is a value: it takes events, with
/// the time and a random number if they matter, and returns what to do.
struct ConnectionPlan {
    typealias ID = Int

    struct Limits: Sendable, Hashable {
        /// The largest number of connections, including those that are being opened.
        var connections = 8
        /// The largest number of requests at once on one connection, even if the service allows more.
        var streams = 1_000
        /// A connection that ends sooner than this counts as a failure, which delays the next one.
        var stableAfter = TimeAmount.seconds(10)
        /// The time after which the first request of a connection counts as one that hangs, so that another connection may
        /// be opened. Until it is answered, the service allows no second one (Guide, 2.3.3).
        var firstAnswer = TimeAmount.seconds(1)
        /// The delays between attempts to connect.
        var delays = GrowingDelay.connecting
    }

    enum Phase: Sendable, Hashable {
        /// Is being opened: from the lookup of the host until the service's SETTINGS have come.
        case opening
        /// Accepts requests.
        case open
        /// Accepts no more requests, and ends when those under way have ended.
        case leaving
    }

    struct Connection: Sendable, Hashable {
        let id: ID
        let since: NIODeadline
        var phase = Phase.opening
        /// The number of streams that the service currently allows.
        var announced = 0
        var inFlight = 0
        /// Whether the service has accepted a provider token on this connection. Before that, it allows one stream
        /// (Guide, 2.3.3).
        var isAuthenticated: Bool
        /// Whether the service has answered any request on this connection.
        var hasAnswered = false
        /// Since when requests are under way without a pause; nil if none is.
        var busy: NIODeadline?
        /// While the connection is suspect, it takes no requests, and another one may be opened in its place from this time;
        /// nil if it is not suspect. See ``KeepAlive``.
        var replaceFrom: NIODeadline?
        /// Whether the service has said GOAWAY without an error.
        var isEndedInOrder = false
    }

    /// What to do when requests wait for a connection.
    enum Opening: Hashable {
        /// Open a connection with this number.
        case open(ID)
        /// Ask again at this time.
        case later(NIODeadline)
        /// Open none: there are enough connections, or as many as the limit allows.
        case none
    }

    private(set) var connections: [Connection] = []
    /// The number of connections in a row that could not be opened or ended too soon.
    private(set) var failures = 0
    /// The earliest time at which the next connection may be opened.
    private(set) var notBefore = NIODeadline.uptimeNanoseconds(0)
    /// Whether the credentials are being replaced. Nothing is opened or sent until the last old connection has ended
    /// (2.3.3.1).
    private(set) var isReplacing = false
    private var usesTokens: Bool
    private let limits: Limits
    private var nextID = 0

    init(usesTokens: Bool, limits: Limits) {
        self.usesTokens = usesTokens
        self.limits = limits
    }

    // MARK: Requests

    /// Chooses the connection with the fewest requests under way for the next request, and counts the request there.
    mutating func assignRequest(at now: NIODeadline) -> ID? {
        guard !isReplacing else { return nil }
        var best: Int?
        for index in connections.indices where room(connections[index]) > 0 {
            if let best, connections[best].inFlight <= connections[index].inFlight { continue }
            best = index
        }
        guard let best else { return nil }
        if connections[best].inFlight == 0 { connections[best].busy = now }
        connections[best].inFlight += 1
        return connections[best].id
    }

    /// Handles the end of a request that `assignRequest()` counted, whether it was sent or not.
    mutating func ended(on id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].inFlight = max(0, connections[index].inFlight - 1)
        if connections[index].inFlight == 0 { connections[index].busy = nil }
    }

    /// Handles an answer. If the answer does not show whether the service accepted the provider token, the token
    /// counts as accepted when the service allows more than one stream.
    mutating func answered(on id: ID, _ verdict: TokenVerdict) {
        guard let index = index(of: id) else { return }
        connections[index].hasAnswered = true
        guard usesTokens else { return }
        switch verdict {
        case .accepted: connections[index].isAuthenticated = true
        case .refused: connections[index].isAuthenticated = false
        case .unrelated: leave(id)
        case .unknown: if connections[index].announced > 1 { connections[index].isAuthenticated = true }
        }
    }

    private func room(_ connection: Connection) -> Int {
        guard connection.phase == .open, connection.replaceFrom == nil else { return 0 }
        let limit = connection.isAuthenticated ? limits.streams : min(limits.streams, 1)
        return min(limit, connection.announced) - connection.inFlight
    }

    // MARK: Connections

    /// Decides whether to open a connection. Call it if requests are waiting and `assignRequest()` returned nil.
    mutating func open(at now: NIODeadline) -> Opening {
        guard !isReplacing else { return .none }
        // Open one at a time: when this one accepts requests, it shows whether more are needed.
        guard !connections.contains(where: { $0.phase == .opening }) else { return .none }
        let open = connections.filter { $0.phase == .open }
        // A suspect connection answers or is closed soon, so it does not keep another one out.
        guard open.count(where: { $0.replaceFrom == nil }) < limits.connections else { return .none }
        var due = notBefore
        for connection in open {
            guard let free = waitsUntil(connection) else { return .none }
            due = max(due, free)
        }
        guard now >= due else { return .later(due) }
        nextID += 1
        connections.append(Connection(id: nextID, since: now, isAuthenticated: !usesTokens))
        return .open(nextID)
    }

    /// Returns until when requests wait for an open connection instead of another one; nil if they wait for an event on it.
    private func waitsUntil(_ connection: Connection) -> NIODeadline? {
        if let replaceFrom = connection.replaceFrom { return replaceFrom }
        guard connection.isAuthenticated else {
            // It can accept more requests once it is authenticated, unless its first request hangs.
            return connection.busy.map { $0 + limits.firstAnswer }
        }
        // If it allows no streams, wait until the service allows some.
        return connection.announced > 0 && room(connection) <= 0 ? .uptimeNanoseconds(0) : nil
    }

    /// Marks a connection as suspect, so that it takes no more requests, or as one that works.
    /// - Parameter replaceFrom: the time from which another one may be opened in its place; nil if it works.
    mutating func suspect(_ id: ID, replaceFrom: NIODeadline?) {
        guard let index = index(of: id) else { return }
        connections[index].replaceFrom = replaceFrom
    }

    /// Handles GOAWAY: the connection accepts no more requests.
    /// - Parameter isInOrder: whether it came without an error (RFC 9113, 6.8).
    mutating func goingAway(_ id: ID, isInOrder: Bool) {
        guard let index = index(of: id) else { return }
        connections[index].phase = .leaving
        connections[index].isEndedInOrder = isInOrder
    }

    /// Handles the service's SETTINGS. After the first ones the connection accepts requests.
    /// - Parameter streams: the number of streams that the service allows; nil if it sets no limit.
    mutating func announced(_ streams: Int?, on id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].announced = streams ?? limits.streams
        if connections[index].phase == .opening { connections[index].phase = .open }
    }

    /// Marks the connection as one that accepts no more requests, for example because its stream numbers are used up.
    mutating func leave(_ id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].phase = .leaving
    }

    /// Removes a connection that has ended or could not be opened.
    /// - Parameter random: from 0 to 1.
    /// - Returns: Whether it was the last one that the replacement of the credentials waited for.
    mutating func closed(_ id: ID, at now: NIODeadline, random: Double) -> Bool {
        guard let index = index(of: id) else { return false }
        let connection = connections.remove(at: index)
        if isReplacing { return connections.isEmpty }
        // One that took long to open and failed has not lasted. A service that answers and then ends the connection in order
        // does not fail, however often it does so.
        if connection.phase != .opening,
            now - connection.since >= limits.stableAfter || (connection.isEndedInOrder && connection.hasAnswered)
        {
            failures = 0
            notBefore = now
        } else {
            // If a service answers and then cuts the connection, it works, but we must not reconnect rapidly: the
            // delay stays below a second.
            failures = connection.hasAnswered ? min(failures + 1, Self.failuresOfOneThatAnswers) : failures + 1
            notBefore = now + limits.delays.delay(afterFailures: failures, random: random)
        }
        return false
    }

    private static let failuresOfOneThatAnswers = 3

    // MARK: Credentials

    /// Begins the replacement of the credentials: every connection is closed before the new ones are used (Guide,
    /// 2.3.3.1).
    /// - Returns: Whether there are no connections, so that the new credentials can be used at once.
    mutating func beginReplacement() -> Bool {
        isReplacing = true
        for index in connections.indices { connections[index].phase = .leaving }
        return connections.isEmpty
    }

    /// Ends the replacement: from now on the new credentials are used.
    mutating func endReplacement(usesTokens: Bool) {
        isReplacing = false
        self.usesTokens = usesTokens
        failures = 0
        notBefore = NIODeadline.uptimeNanoseconds(0)
    }

    // MARK: Looking

    /// Whether a connection is open and not suspect, even if it has no free stream at the moment.
    var hasOpen: Bool { connections.contains { $0.phase == .open && $0.replaceFrom == nil } }

    /// How long requests wait for an attempt to connect after one that has failed. If the service refuses connections, the
    /// attempt ends much sooner.
    static let attemptPatience = TimeAmount.seconds(1)

    /// Whether no connection is open or expected soon, if the last attempt to connect has failed.
    func isUnreachable(at now: NIODeadline) -> Bool {
        guard !hasOpen, !isReplacing else { return false }
        return connections.allSatisfy { $0.phase != .opening || now - $0.since >= Self.attemptPatience }
    }

    /// Whether there are open connections and the service allows no streams on any of them.
    var allowsNoStreams: Bool {
        let open = connections.filter { $0.phase == .open }
        return !open.isEmpty && open.allSatisfy { $0.announced <= 0 }
    }

    subscript(id: ID) -> Connection? { index(of: id).map { connections[$0] } }

    private func index(of id: ID) -> Int? { connections.firstIndex { $0.id == id } }
}

extension GrowingDelay {
    /// The delays between attempts to connect: "APNs treats rapid connection and disconnection as a
    /// denial-of-service attack" (Guide, 2.3.3.1). A service that restarts is back after about a second, so the
    /// first delays are short. In an outage, one attempt in half a minute does no harm.
    static let connecting = GrowingDelay(first: .milliseconds(200), longest: .seconds(30))
    /// Those of a gateway, whose clients wait and ask again: it notices the end of an outage within about a second.
    static let connectingForOthers = GrowingDelay(first: .milliseconds(200), longest: .seconds(1))
}
