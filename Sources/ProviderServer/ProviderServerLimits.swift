import NIOCore
import Rates

/// The bounds of the provider server.
package enum ProviderServerLimits {
    // MARK: Requests

    /// The largest body of a request about an installation, in bytes. One with 60 long tags and all values has 14,000.
    package static let installationBytes = 16_384
    /// The largest body of any other request, in bytes: a message to 10,000 named recipients has 500,000.
    package static let bodyBytes = 1 << 20
    /// The limits on a request's header fields. A token of an identity provider has up to 4 KB.
    static let headerBytes = 16_384
    static let headerFields = 100
    /// How many connections may be open. More wait until one ends.
    static let openConnections = 4_096
    /// How long a connection may be silent. Apps register at their launch, and then say nothing for hours.
    static let idleTimeout = TimeAmount.seconds(30)
    /// The most items in an answer.
    package static let listItems = 1_000
    /// How many levels a document may have. A payload may have 32, and is one level down.
    static let documentDepth = 40

    /// How often one installation may be changed: an app does it at its launch, and when the user changes a setting.
    static let installationChanges = Rate(burst: 20, perSecond: 0.2)

    // MARK: Installations

    /// The longest identifier, in bytes. A UUID has 36.
    package static let identifierBytes = 64
    /// The most tags of an installation, as with Azure. Each lengthens the search of an audience.
    package static let tags = 60
    /// The most languages of an installation. A device sends the user's list; nobody reads ten languages.
    package static let languages = 10
    /// The longest tag of a language, in bytes (RFC 5646, 4.4.1).
    static let languageBytes = 35
    /// The longest name of a user, of an app's version and of a time zone, in bytes.
    package static let nameBytes = 128
    /// The most values of an installation or of a message, and their largest size in bytes. A payload has 4,096.
    package static let values = 20
    package static let valueBytes = 256

    // MARK: Messages

    /// The most installations or users that a message may name.
    package static let namedRecipients = 10_000
    /// The most languages with texts of their own.
    package static let textLanguages = 100
    /// The most notifications a second that a message may ask for: more than one process sends.
    package static let rate: Int64 = 100_000
    /// How far ahead a message may be scheduled: a year.
    package static let schedule = Duration.seconds(366 * 86_400)
    /// The longest idempotency key, in bytes.
    static let idempotencyKeyBytes = 128
    /// How many recipients a dry run shows.
    static let samples = 3

    // MARK: Sending

    /// How many messages of one app are sent at the same time. With ``inFlight`` each, they stay below what a client
    /// lets wait.
    static let messagesAtOnce = 8
    /// How many notifications of one message are under way.
    static let inFlight = 1_000
    /// The time for each notification with all attempts: it covers a restart of the service.
    package static let deadline = Duration.seconds(30)
    /// How many recipients are read at once.
    static let page = 1_000
    /// An outcome is on the disk after half of 100 ms, and one fsync.
    static let outcomeDelay = Duration.milliseconds(50)
    /// How many outcomes may wait for the disk before sending waits too.
    static let waitingOutcomes = 5_000
    /// How many recipients in a row may be unreachable before sending stops for a while: then it is the service, and
    /// not one notification.
    static let failuresInARow = 50
    /// How often a notification that the service fails to answer is sent again in a new pass. Each pass is 30 seconds
    /// of trying.
    static let passes = 5
    /// How long a request that stops a message waits for the answers that are under way. If the service cannot be
    /// reached, they would take until the deadline.
    static let stopPatience = Duration.seconds(5)
    /// The delay before a store that failed is asked again for what is due.
    static let storeDelay = Duration.seconds(5)
    /// The delay before sending goes on after a failure.
    static let firstDelay = TimeAmount.seconds(1)
    static let longestDelay = TimeAmount.seconds(60)
    // MARK: Hooks

    /// The most hooks of an app: a few systems of the organisation.
    static let hooks = 10
    /// The longest address of a hook, in bytes.
    static let hookURLBytes = 1_000
    /// How many events are sent at the same time.
    static let hooksAtOnce = 16
    /// How long a receiver may take to answer.
    static let hookTimeout = TimeAmount.seconds(10)
    /// How often an event is sent, and the delay before it is sent again: with twelve attempts some six hours.
    static let hookAttempts: Int64 = 12
    static let firstHookDelay = TimeAmount.seconds(5)
    static let longestHookDelay = TimeAmount.hours(1)
}
