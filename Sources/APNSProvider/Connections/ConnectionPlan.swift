import Connections
import NIOCore

/// Decides which connections there are and which of them gets the next request. A value: what happened goes in, with
/// the time and a random number where they matter, and what is to be done comes out.
struct ConnectionPlan {
    typealias ID = Int

    struct Limits: Sendable, Hashable {
        /// Connections at once, those that are being opened included.
        var connections = 8
        /// Requests at once on one connection, however many more the service would allow.
        var streams = 1_000
        /// A connection that ends sooner than this did not work, as far as the next one is concerned.
        var stableAfter = TimeAmount.seconds(10)
    }

    enum Phase: Sendable, Hashable {
        /// Looked up, connected, TLS, until the service's SETTINGS have come.
        case opening
        /// Takes requests.
        case open
        /// Takes none any more, and ends when those that are under way have ended.
        case leaving
    }

    struct Connection: Sendable, Hashable {
        let id: ID
        let since: NIODeadline
        var phase = Phase.opening
        /// The number of streams that the service has announced, as it changes.
        var announced = 0
        var inFlight = 0
        /// Whether the service has accepted a provider token here: before that it allows one stream (Guide, 2.3.3).
        var isAuthenticated: Bool
        /// Whether the service has answered anything here.
        var hasAnswered = false
    }

    /// What to do about requests that wait for a connection.
    enum Opening: Hashable {
        /// Open one, under this number.
        case open(ID)
        /// Not before then.
        case later(NIODeadline)
        /// There are connections enough, or as many as there may be.
        case none
    }

    private(set) var connections: [Connection] = []
    /// Connections in a row that could not be opened or did not last.
    private(set) var failures = 0
    /// The next connection is not opened before.
    private(set) var notBefore = NIODeadline.uptimeNanoseconds(0)
    /// The credentials are being replaced: nothing is opened or sent until the last connection is gone (2.3.3.1).
    private(set) var isReplacing = false
    private var usesTokens: Bool
    private let limits: Limits
    private var nextID = 0

    init(usesTokens: Bool, limits: Limits) {
        self.usesTokens = usesTokens
        self.limits = limits
    }

    // MARK: Requests

    /// Chooses the connection for the next request, the one with the fewest under way, and counts it there.
    mutating func take() -> ID? {
        guard !isReplacing else { return nil }
        var best: Int?
        for index in connections.indices where room(connections[index]) > 0 {
            if let best, connections[best].inFlight <= connections[index].inFlight { continue }
            best = index
        }
        guard let best else { return nil }
        connections[best].inFlight += 1
        return connections[best].id
    }

    /// A request that was counted has ended, or was not sent after all.
    mutating func ended(on id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].inFlight = max(0, connections[index].inFlight - 1)
    }

    /// The service answered. Where the answer does not tell whether it took the provider token, its announcing more
    /// than one stream does.
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
        guard connection.phase == .open else { return 0 }
        let limit = connection.isAuthenticated ? limits.streams : min(limits.streams, 1)
        return min(limit, connection.announced) - connection.inFlight
    }

    // MARK: Connections

    /// Asked whenever requests wait for which `take()` had no connection.
    mutating func open(at now: NIODeadline) -> Opening {
        guard !isReplacing else { return .none }
        // One at a time: whether more are needed shows when this one takes requests.
        guard !connections.contains(where: { $0.phase == .opening }) else { return .none }
        let open = connections.filter { $0.phase == .open }
        guard open.count < limits.connections else { return .none }
        // One that could take more once it is authenticated, or allowed more streams, is waited for.
        guard open.allSatisfy({ $0.isAuthenticated && $0.announced > 0 && room($0) <= 0 }) else { return .none }
        guard now >= notBefore else { return .later(notBefore) }
        nextID += 1
        connections.append(Connection(id: nextID, since: now, isAuthenticated: !usesTokens))
        return .open(nextID)
    }

    /// The service's SETTINGS have come: the first make the connection one that takes requests.
    /// - Parameter streams: nil where the service sets no limit.
    mutating func announced(_ streams: Int?, on id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].announced = streams ?? limits.streams
        if connections[index].phase == .opening { connections[index].phase = .open }
    }

    /// The connection takes no more requests: GOAWAY came, or its stream numbers are used up.
    mutating func leave(_ id: ID) {
        guard let index = index(of: id) else { return }
        connections[index].phase = .leaving
    }

    /// The connection is gone, or could not be opened.
    /// - Parameter random: from 0 to 1.
    /// - Returns: Whether it was the last one that the replacement of the credentials waited for.
    mutating func closed(_ id: ID, at now: NIODeadline, random: Double) -> Bool {
        guard let index = index(of: id) else { return false }
        let connection = connections.remove(at: index)
        if isReplacing { return connections.isEmpty }
        if now - connection.since >= limits.stableAfter {
            failures = 0
            notBefore = now
        } else {
            // A service that answers and then ends the connection is not reconnected to rapidly, but it works: the
            // delay does not grow beyond a second.
            failures = connection.hasAnswered ? min(failures + 1, Self.failuresOfOneThatAnswers) : failures + 1
            notBefore = now + GrowingDelay.connecting.delay(afterFailures: failures, random: random)
        }
        return false
    }

    private static let failuresOfOneThatAnswers = 3

    // MARK: Credentials

    /// The credentials are to be replaced: every connection is closed before the new ones are used (Guide, 2.3.3.1).
    /// - Returns: Whether there is none, so that the new ones can be used at once.
    mutating func beginReplacement() -> Bool {
        isReplacing = true
        for index in connections.indices { connections[index].phase = .leaving }
        return connections.isEmpty
    }

    /// From here on the new credentials are used.
    mutating func endReplacement(usesTokens: Bool) {
        isReplacing = false
        self.usesTokens = usesTokens
        failures = 0
        notBefore = NIODeadline.uptimeNanoseconds(0)
    }

    // MARK: Looking

    /// Whether a connection takes requests, if only later.
    var hasOpen: Bool { connections.contains { $0.phase == .open } }

    /// Whether a connection takes requests and the service allows it no stream.
    var allowsNoStreams: Bool {
        let open = connections.filter { $0.phase == .open }
        return !open.isEmpty && open.allSatisfy { $0.announced <= 0 }
    }

    subscript(id: ID) -> Connection? { index(of: id).map { connections[$0] } }

    private func index(of id: ID) -> Int? { connections.firstIndex { $0.id == id } }
}

extension GrowingDelay {
    /// Opening connections: "APNs treats rapid connection and disconnection as a denial-of-service attack" (Guide,
    /// 2.3.3.1). A restart of the other side takes a second, an outage is not made worse by a try in half a minute.
    static let connecting = GrowingDelay(first: .milliseconds(200), longest: .seconds(30))
}
