import HTTPAPI
import NIOCore
package import Rates

/// The bounds of the management API.
package enum ManagementLimits {
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

    /// The rate of requests over the network that show neither the key nor a session: health checks, scrapers, the files of
    /// the console's page, of which a page needs forty. Beyond it the answer is 429.
    package static let withoutKey = Rate(burst: 300, perSecond: 100)

    /// How many connections may be open over TCP and TLS, and how many on the Unix socket. A further connection closes
    /// the one that has been idle for longest, so holding connections open locks nobody out.
    package static let openConnections = 256

    /// The same for a service for tests: each of a thousand parallel tests has a few. One takes 30 KB, so they take 120 MB.
    package static let openConnectionsForTests = 4096

    /// How long a new connection keeps its place without a request: the client may be in the middle of its handshake, or
    /// wait for a turn.
    static let newConnectionGrace = TimeAmount.seconds(2)

    /// How many connections may be open beyond the limit because they are so new: more than one address may open in that
    /// time (`limit.management-connect-rate`).
    static let newConnections = 1024

    /// The maximum number of open streams: half of the connections, so that other requests get through.
    package static let streams = 128

    /// The same for a service for tests, where each test may wait for its requests.
    package static let streamsForTests = 2048

    /// How long a request may take to arrive, as on providers' connections, and how long a client may leave an answer
    /// unread.
    static let requests = RequestLimits(request: .seconds(10), answer: .seconds(30))

    /// How long a new connection may take to send its first request, and how long it may be idle between two requests.
    /// Scrapers come at least once a minute.
    static let connections = ConnectionGuard.Times(first: .seconds(10), idle: .minutes(2))

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
