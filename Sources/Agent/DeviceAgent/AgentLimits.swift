import HTTPAPI
import NIOCore
import Rates

/// The agent's limits, each with the reason for its value.
package enum AgentLimits {
    // MARK: Apps

    /// The number of manifests. A machine has a few apps; each may keep ``queuedEvents`` on the disk.
    package static let manifests = 100
    /// The size of a manifest in bytes. One with a long command has 2 KB.
    package static let manifestBytes = 65_536
    /// How often the manifests are read again, because a process asks for an app that they do not have.
    static let manifestReadings = Rate(burst: 10, perSecond: 2)
    /// The arguments of a command, and their bytes.
    package static let arguments = 64
    package static let argumentBytes = 4096
    /// The size of a registration in bytes: the texts of an app in some languages.
    package static let registrationBytes = 262_144
    /// The channels that an app may subscribe to, and its categories.
    package static let channels = 100
    package static let categories = 100
    /// The actions of a category, and the bytes of their names and titles. A desktop shows three or four. Each shown
    /// notification has those of its category.
    package static let actions = 10
    package static let actionBytes = 200
    /// How often an app may register: a few starts in a row, then one each second.
    static let registrations = Rate(burst: 20, perSecond: 1)
    /// How often an app may subscribe to Web Push: all that it may have once in a row, and then one each second.
    static let subscriptions = Rate(burst: 500, perSecond: 1)
    /// The size of a request that subscribes, in bytes, and of the name of a subscription.
    static let subscriptionBytes = 4096
    static let subscriptionNameBytes = 100
    /// How long an app waits for the service when it registers.
    static let registering = Duration.seconds(15)

    // MARK: The queue

    /// The events that an app has not handled, on the disk. One more removes the oldest. With payloads of 4 KB they take
    /// 5 MB for each app, and a person who comes back reads fewer.
    package static let queuedEvents = 500
    /// The bytes of these events. The texts of an app in the user's language can be longer than a payload.
    package static let queuedBytes = 8 << 20
    /// The identifiers of notifications that have come, so that none comes twice: what the service may have under way.
    package static let seenNotifications = 1000
    /// The events that a stream reads at once. It limits the memory of a stream whose client reads slowly.
    static let pageEvents = 50
    /// The bytes of these events, except for a single one that is longer: 50 payloads of 5 KB.
    static let pageBytes = 262_144
    /// The numbers in one request of an app that has handled events.
    package static let handledNumbers = 1000
    /// The delays before a notification that could not be stored is stored again, for example on a full disk. Until then
    /// it is not acknowledged.
    static let storing = (first: TimeAmount.milliseconds(200), longest: TimeAmount.seconds(30))

    // MARK: The socket

    /// The connections of one Unix user, and of all. An app needs one for its stream and one for its requests.
    package static let connectionsOfUser = 32
    package static let connections = 512
    /// How often a user who is no app may send a request without waiting: a person who looks at the status, and a program that waits
    /// for its manifest. Without this, 32 connections of a stranger would let every app wait for 32 answers.
    static let strangerRequests = Rate(burst: 20, perSecond: 10)
    /// The number of such users at which the table is searched for those that have been quiet.
    static let strangers = 1000
    /// The streams of one app.
    package static let streams = 8
    /// How long a request may take to arrive, and how long an app may leave an answer unread.
    static let requests = RequestLimits(request: .seconds(10), answer: .seconds(30))
    /// How long a new connection may take to send its first request, how long it may be idle, and how long answers may take
    /// when the agent ends.
    static let connectionTimes = ConnectionGuard.Times(
        first: .seconds(10), idle: .minutes(2), ending: .seconds(2))

    // MARK: The identity

    /// How often the agent looks for another activation code while the service refuses its identity. Each look tries a new code
    /// once, and a person who replaces a file waits so long at most.
    static let codeReading = Duration.seconds(60)

    // MARK: The desktop

    /// The alerts that wait for the desktop. A desktop that is slow shows the newest.
    static let waitingAlerts = 100

    // MARK: UnifiedPush

    /// The registrations of one bus name: an app has one for each account or chat.
    static let connectorsOfName = 20
    /// The registrations of all apps of the desktop: as many subscriptions as the service allows an app.
    static let connectors = 500
    /// The size of an app's name for a registration, in bytes (UnifiedPush's D-Bus specification).
    static let connectorTokenBytes = 100
    /// The messages of a registration that its app has not taken, and their bytes: those of a subscription at the service. One more
    /// removes the oldest.
    static let connectorMessages = 100
    static let connectorBytes = 262_144
    /// The delays before a message is handed over again. Starting an app takes a second; one that hangs is asked every five minutes.
    static let handing = (first: TimeAmount.seconds(1), longest: TimeAmount.minutes(5))
    /// How often the machine's power is read, if it has a battery: the service waits for 30 seconds and more.
    static let powerReading = Duration.seconds(60)
    /// The delays before the session bus is tried again.
    static let bus = (first: TimeAmount.milliseconds(200), longest: TimeAmount.seconds(30))

    // MARK: Memory

    /// How long the agent has to be idle before it gives memory back. Connecting takes less on most networks, and so do the requests
    /// of an app that handles what has come.
    static let pageReleaseDelay = TimeAmount.seconds(5)

    // MARK: Waking

    /// The time that an app has for a silent notification (Guide, 2.2.2), and a command for a notification.
    package static let backgroundSeconds = 30
    /// The time that a command has to end after SIGTERM.
    static let ending = Duration.seconds(2)
    /// What a command may print into the agent's journal for one event, in bytes. A stack trace has a tenth of it. The rest is read and
    /// dropped, so that the command goes on.
    package static let printedBytes = 65_536
    /// The commands that run at the same time. Each app has one at most.
    static let programs = 4
    /// How often a command is tried for one event. After that the event waits for a stream of the app.
    package static let attempts = 8
    /// The delays between the attempts.
    static let waking = (first: TimeAmount.seconds(1), longest: TimeAmount.minutes(5))
}
