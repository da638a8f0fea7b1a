import NIOCore

/// The bounds of the management API.
package enum ManagementLimits {
    /// The size of a request's body in bytes: a certificate signing request, the largest of them, takes 2,000.
    package static let bodyBytes = 65_536

    /// The size of a fixture in bytes: 10,000 devices take 2 MB.
    package static let fixtureBytes = 4 << 20

    /// How long a test may wait for requests: longer than the patience of whoever started it.
    package static let wait = Duration.seconds(600)

    /// How many items an answer lists: a page of them is some 200 KB.
    package static let listItems = 1000

    /// How long a link to the console is good: time to copy it into a browser.
    static let consoleLinkLife = Duration.seconds(300)

    /// How many links wait to be used: more than anybody makes in five minutes.
    static let consoleLinks = 16

    /// How long a browser stays signed in: a working day.
    static let consoleSessionLife = Duration.seconds(12 * 3600)

    /// How many browsers are signed in at a time; the one that signed in first is signed out.
    static let consoleSessions = 32

    /// The size of a request's header fields in bytes, and of one of them, and their number. A browser with some cookies
    /// sends 4 KB.
    static let headerBytes = 16_384
    static let headerFields = 100

    /// How many connections are open at a time over TCP, and as many on the Unix socket. When one more comes, the one that
    /// has been idle for longest goes, so that nobody can lock others out by holding connections.
    package static let openConnections = 256

    /// How many answers without an end are open at a time: half of the connections, so that other requests find room.
    package static let streams = 128

    /// How many requests a client may send before it has the answer to the first: as many as a browser has connections,
    /// and some more.
    static let requestsAhead = 16

    /// How long a request may take to arrive, and a new connection to send its first one: as long as a provider's.
    static let requestTimeout = TimeAmount.seconds(10)

    /// How long a connection may be idle between two requests: scrapers come every minute or more often.
    static let idleTimeout = TimeAmount.minutes(2)

    /// How long a client may leave an answer unread.
    static let answerTimeout = TimeAmount.seconds(30)

    /// How often a sampled stream writes: it looks live to a person, and costs little.
    static let samplePace = Duration.milliseconds(250)

    /// How many new notifications a sample of the delivery log shows in that time: a person reads fewer.
    static let sampledEntries = 50

    /// How many notifications a sample knows, to show their later entries: those that a person can still scroll to.
    static let sampleMemory = 10_000

    /// How often a stream of server-sent events that has nothing to say sends a comment, so that a proxy does not close it.
    static let keepAlive = Duration.seconds(15)
}
