package import Connections
import HTTPAPI
import NIOCore
package import Rates

/// The limits of the management API, each with the reason for its value.
package struct ManagementLimits: Sendable, Hashable {
    /// The limits of one address on the TCP and TLS listeners together. `open` is 0, because ``connections`` bounds the open
    /// connections of all addresses together.
    package var perAddress = ConnectLimits(connects: Rate(burst: 400, perSecond: 200), open: 0)

    /// How many connections may be open over TCP and TLS, and how many on the Unix socket. A further connection closes
    /// the one that has been idle for longest, so holding connections open locks nobody out.
    package var connections = 256
    /// The same for a service for tests: each of a thousand parallel tests has a few. One takes 30 KB, so they take 120 MB.
    private static let connectionsForTests = 4096.0

    /// The maximum number of open streams and waits: half of the connections, so that other requests get through.
    package var streams = 128
    /// The same for a service for tests, where each test may wait for its requests.
    private static let streamsForTests = 2048.0

    /// The rate of requests over the network that show neither the key nor a session: health checks, scrapers, the files of
    /// the console's page, of which a page needs forty. Beyond it the answer is 429.
    package var withoutKey = Rate(burst: 300, perSecond: 100)

    package init() {}

    package static let settings: [LimitSetting<ManagementLimits>] =
        ConnectLimits.settings("management-connect", to: "the management API").map { $0.of(\.perAddress) } + [
            LimitSetting(
                .managementConnections, "open connections to the management API", 16...100_000, \.connections, .count,
                forTests: connectionsForTests),
            LimitSetting(
                "management-streams", "open streams and waits of the management API", 1...100_000, \.streams, .count,
                forTests: streamsForTests),
        ]

    /// The size of a fixture in bytes. One with 10,000 devices has 2 MB.
    package static let fixtureBytes = 4 << 20

    /// How many devices of a fixture are made at the same time. Each takes 5 KB meanwhile, and what it leaves lies between
    /// that of the others: with a thousand at once, the process kept 7 MB for 1.2 MB of devices. A store on disk takes so
    /// many in one transaction.
    static let devicesAtOnce = 32

    /// How many devices are looked at to find out whether anybody uses the app of the first start. A service with more of
    /// them is in use.
    static let untouchedAppDeviceScan = 1000

    /// How long a wait for requests may take: longer than a person waits for a test.
    package static let wait = Duration.seconds(600)

    /// How long a new connection keeps its place without a request: the client may be in the middle of its handshake, or
    /// wait for a turn.
    static let newConnectionGrace = TimeAmount.seconds(2)

    /// How many connections may be open beyond the limit because they are so new: more than one address may open in that
    /// time (`limit.management-connect-rate`).
    static let newConnections = 1024

    /// How long a request may take to arrive, as on providers' connections, and how long a client may leave an answer
    /// unread.
    static let requests = RequestLimits(request: .seconds(10), answer: .seconds(30))

    /// How long a new connection may take to send its first request, and how long it may be idle between two requests.
    /// Scrapers come at least once a minute.
    static let connectionTimes = ConnectionGuard.Times(first: .seconds(10), idle: .minutes(2))

    /// How long a connection may go on if its client's certificate was revoked. An administrator who revokes the
    /// certificate of this connection gets the answer.
    static let lastAnswer = TimeAmount.seconds(1)

    /// The longest time over which a node may be drained.
    static let drain = Duration.seconds(3600)

    /// How many entries about one notification each node adds: more than any notification has.
    package static let entriesOfOne = 1000

    /// How many entries of the delivery log are read at a time for one answer, and how many bytes of lines are written at
    /// once. A client that does not read keeps twice of both in memory: with the whole of a read, which may have
    /// thousands of entries, it was 8 MB.
    static let logPage = 256
    static let logPieceBytes = 64 << 10

    /// How many reads a stream makes after the service has begun to end: enough for what was recorded just before, and not
    /// the whole log for a client that is far behind.
    static let readsAfterEnd = 16

    /// How often a sampled stream writes: it looks live to a person, and costs little.
    static let samplePace = Duration.milliseconds(250)

    /// How many new notifications a sample of the delivery log shows in that time: a person reads fewer.
    static let sampledEntries = 50

    /// How many notifications a sample knows, to show their later entries: those that a person can still scroll to.
    static let sampleMemory = 10_000

    /// How often an idle stream of server-sent events sends a comment, so that proxies do not close it.
    static let keepAlive = Duration.seconds(15)
}

extension Limit {
    /// The rate of ``ManagementLimits/perAddress``.
    package static let managementConnectRate = Limit("management-connect-rate")
    /// ``ManagementLimits/connections``, and all of them are busy or new.
    package static let managementConnections = Limit("management-connections")

    package static let ofManagement: [Limit] = [.managementConnectRate, .managementConnections]
}
