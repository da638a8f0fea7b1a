import Connections
import NIOCore
import Rates

/// The limits of the provider server.
package enum ProviderServerLimits {
    // MARK: Requests

    /// The largest body of a request about an installation, in bytes. One with 120 long tags, all values and all device
    /// tokens has 33,000.
    package static let installationBytes = 40_960
    /// The largest body of any other request, in bytes: a message to 10,000 named recipients has 500,000.
    package static let bodyBytes = 1 << 20
    /// The largest number of open connections, for ``ProviderServer/Settings``. Further ones wait until one closes.
    static let openConnections = 4_096
    /// The time after which an idle connection is closed. An app registers at its launch, and then sends nothing for
    /// hours.
    static let idleTimeout = TimeAmount.seconds(30)
    /// The time within which a request has to arrive, and within which the client has to go on reading an answer.
    static let requestTimeout = TimeAmount.seconds(30)
    /// A body may take longer if this many bytes arrive in a second: an import has any length.
    static let bodyBytesPerSecond = 1_024
    /// How much longer than the idle timeout a connection may be without a request, so that a client that behaves well
    /// gets GOAWAY first.
    static let idleMargin = TimeAmount.seconds(2)
    /// How long requests under way may take when the server ends. An import could otherwise take any time.
    static let endTimeout = TimeAmount.seconds(10)
    /// How many messages a list reads from the store at once. A message may have a megabyte, and a list 1,000 messages.
    static let messagesRead = 20

    /// How often one installation can be changed. An app does it at its launch, and when the user changes a setting.
    static let installationChanges = Rate(burst: 20, perSecond: 0.2)
    /// How many installations an app's client key may add. Everybody can read this key in the app. A popular app has some
    /// ten new installations a second, and many more on the day of its release.
    static let newInstallations = Rate(burst: 10_000, perSecond: 100)

    // MARK: Installations

    /// The longest identifier, in bytes. A UUID has 36.
    package static let identifierBytes = 64
    /// The largest number of tags of an installation, the same as at Azure. More tags make the search for an audience
    /// slower.
    package static let tags = 60
    /// The largest number of languages of an installation. A device sends the user's list, which is rarely this long.
    package static let languages = 10
    /// The largest number of Live Activities of an installation. A device shows a few at once.
    package static let activities = 20
    /// The longest tag of a language, in bytes (RFC 5646, 4.4.1).
    static let languageBytes = 35
    /// The longest name of a user, of an app's version and of a time zone, in bytes.
    package static let nameBytes = 128
    /// The most values of an installation or of a message, and their largest size in bytes. A payload has 4,096.
    package static let values = 20
    package static let valueBytes = 256

    // MARK: Identity providers

    /// The longest token of an identity provider, in bytes. It has to fit into the header fields of a request.
    static let identityTokenBytes = 8_192
    /// The largest file of an identity provider's keys, in bytes. Google's has 2,000, one with 100 large keys 100,000.
    static let identityFileBytes = 262_144
    /// The largest number of keys in such a file. An identity provider has one, and two while it replaces one.
    static let identityKeys = 100
    /// The largest RSA modulus, in bytes: 8,192 bits. A larger key only makes each request slower.
    static let identityKeyBytes = 1_024
    /// The longest issuer, audience and path of a key file, in bytes.
    static let identityNameBytes = 1_000
    /// How many seconds the clocks of the identity provider and of this machine may differ.
    static let clockDifference = 60.0

    // MARK: Messages

    /// The largest payload of a message before names are replaced by values, in bytes. Afterwards it may have 4,096, but
    /// a name can be longer than its value.
    static let templateBytes = 65_536
    /// The most installations or users that a message may name.
    package static let namedRecipients = 10_000
    /// The largest number of saved audiences of an app. People choose one from a list.
    static let savedAudiences = 200
    /// The longest name of a saved audience, in bytes.
    static let audienceNameBytes = 64
    /// The largest body that saves an audience, in bytes. Together with a message it has to fit into the store's row.
    static let audienceBytes = 1 << 20
    /// The largest number of languages for which a message has texts.
    package static let textLanguages = 100
    /// The largest rate that a message may have, in notifications a second. Higher rates need more than one process.
    package static let rate: Int64 = 100_000
    /// How far ahead a message may be scheduled: a year.
    package static let schedule = Duration.seconds(366 * 86_400)
    /// The longest idempotency key, in bytes.
    static let idempotencyKeyBytes = 128
    /// How many recipients a dry run shows.
    static let samples = 10
    /// How long the answer to a new message may wait for its end: as long as a client usually waits for an answer.
    package static let waitSeconds = 30
    /// How many answers may wait at the same time. Further ones do not wait.
    static let waits = 1_000
    /// How often an answer that waits looks for the end of a message that another server may send.
    static let waitInterval = Duration.milliseconds(100)
    /// How many outcomes such an answer has.
    static let answeredOutcomes = 100

    // MARK: Sending

    /// How many messages of one app are sent at the same time. If each has ``inFlight`` notifications, their total
    /// stays below the limit of a client's queue.
    static let messagesAtOnce = 8
    /// How many notifications of one message wait for an answer.
    static let inFlight = 1_000
    /// How many answers to a message are its first. If nine of ten of them say BadDeviceToken, after at least the second
    /// number, the message pauses.
    static let firstAnswers = 100
    static let fewestAnswers = 20
    /// How many recipients are tried in the other environment together.
    static let triedTogether = 100
    /// How many recipients these are if the other environment has answered none of those before. It then holds up the
    /// message for ``elsewhereDeadline`` each time, so they should be many, but not more than can be in flight at once.
    static let triedTogetherAfterSilence = inFlight
    /// How long they are tried. The other environment may not be reachable, and the message must not wait for it.
    static let elsewhereDeadline = Duration.seconds(5)
    /// How long a request about broadcast channels may take at the service.
    static let channelDeadline = Duration.seconds(10)
    /// How few notifications of one message wait for an answer if the service ends connections again and again.
    static let smallestWindow = 10
    /// How often a message looks whether it gets on, and after how many such times without an answer it says that it waits.
    static let watchInterval = Duration.seconds(1)
    static let silentIntervals = 5
    /// The time for all attempts to send a notification in one pass. It is longer than a restart of the service.
    package static let deadline = Duration.seconds(30)
    /// The largest number of messages of one app that are scheduled or being sent. The server looks at all of them each time
    /// that one is added or ends.
    static let openMessages = 1_000
    /// For how many days messages that have ended are kept, with their outcomes; 0 for ever. A campaign to a million has 100
    /// MB of outcomes.
    static let messageDays = 90.0
    /// How often old messages are searched for, and how many are deleted before others have their turn.
    static let cleaningInterval = Duration.seconds(3600)
    static let cleanedTogether = 100
    /// How many recipients are read from the store at once.
    static let page = 1_000
    /// The time between two writes of outcomes. With it, an outcome is on the disk in less than 100 ms.
    static let outcomeDelay = Duration.milliseconds(50)
    /// How many outcomes may wait for the disk before sending waits too.
    static let waitingOutcomes = 5_000
    /// After this many failures in a row, sending pauses: the service, and not one notification, is then the cause.
    static let failuresInARow = 50
    /// In how many passes a notification is sent if the service fails to answer it. A pass takes up to 30 seconds. Passes in
    /// which ``failuresInARow`` or more fail do not count. In the last pass they are sent one at a time.
    static let passes = 5
    /// How often in a row the search for recipients may take too long for the database before a person has to decide.
    /// With the growing delay, ten attempts take about five minutes: other work of the database is usually done by then.
    static let slowReads = 10
    /// How long a request that stops a message waits for the answers under way. If the service cannot be reached, they
    /// would not come before the deadline.
    static let stopPatience = Duration.seconds(5)
    /// The delay before the store is read again after a failure.
    static let storeDelay = Duration.seconds(5)
    /// The delay before sending goes on after a failure.
    static let sendingDelay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    // MARK: The feedback service

    /// The time from one reading of the feedback service to the next: "query the feedback service daily" (Guide, 3.1.3).
    static let feedbackInterval = Duration.seconds(86_400)
    /// The delay before the next reading after a failure.
    static let feedbackDelay = GrowingDelay(first: .minutes(1), longest: .hours(1))

    // MARK: Several servers

    /// How often a server looks for changes that other servers have made: new messages, apps and keys, and messages that
    /// were stopped.
    static let sharedInterval = Duration.seconds(1)
    /// How long a server goes on taking recipients of a message when it cannot renew its hold: longer than a short failure
    /// of the database.
    static let holdSlack = Duration.seconds(15)
    /// The hold lasts this much longer than the last notification can be under way, so that its outcome can be stored.
    static let holdMargin = Duration.seconds(5)
    /// How long an event for a hook is held: longer than an attempt to connect and the wait for the answer.
    static let hookHold = Duration.seconds(30)

    // MARK: Hooks

    /// The largest number of hooks of an app. An organisation has only a few systems that need events.
    static let hooks = 10
    /// The longest address of a hook, in bytes.
    static let hookURLBytes = 1_000
    /// How many events are sent to hooks at the same time.
    static let hooksAtOnce = 16
    /// How many of them are sent to one hook. A receiver that does not answer has only these places, and not all of them.
    static let hookEventsAtOnce = 2
    /// The time within which a receiver has to answer.
    static let hookTimeout = TimeAmount.seconds(10)
    /// The largest number of attempts to send an event. With the growing delay, twelve attempts take about six hours.
    static let hookAttempts: Int64 = 12
    static let hookDelay = GrowingDelay(first: .seconds(5), longest: .hours(1))
}
