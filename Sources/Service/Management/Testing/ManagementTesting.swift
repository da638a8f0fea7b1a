package import Delivery
import HTTPAPI
package import Journal
package import Matching
package import Notifications
package import Trust
package import VirtualDevices

/// The parts of the service that only tests use. They exist only if the service serves the development environment.
package struct ManagementTesting: Sendable {
    /// Sends a notification according to the provider API's rules.
    package typealias Send =
        @Sendable (_ notification: ManagementMessages.NewNotification) async -> (id: NotificationID, outcome: Outcome)

    /// Sends to a broadcast channel according to the provider API's rules.
    package typealias Broadcast =
        @Sendable (_ broadcast: ManagementMessages.NewBroadcast) async -> (id: NotificationID, outcome: Outcome)

    /// How the provider API's rules judge a notification that is not sent.
    package struct Check: Sendable {
        /// The rejection; nil if the notification would be accepted.
        package let rejection: Rejection?
        /// The rejection by `--conformance strict`; nil if it would accept the notification.
        package let strictRejection: Rejection?
        package let bytes: Int
        /// The largest payload that the topic allows; nil if no app has the topic.
        package let maximumBytes: Int?

        package init(rejection: Rejection?, strictRejection: Rejection?, bytes: Int, maximumBytes: Int?) {
            self.rejection = rejection
            self.strictRejection = strictRejection
            self.bytes = bytes
            self.maximumBytes = maximumBytes
        }
    }

    package let journal: RequestJournal
    package let observation: RequestObservation
    package let devices: VirtualDevices
    /// The keys that nobody has created, and whose provider tokens are accepted; nil unless `--accept any` is set.
    package let unknownKeys: UnknownKeys?
    package let mailboxes: any Mailboxes
    package let send: Send
    /// Checks a notification and sends nothing; nil if the provider API is gone.
    package let check: @Sendable (_ notification: ManagementMessages.NewNotification) async -> Check?
    package let broadcast: Broadcast
    /// Checks a broadcast and sends nothing; nil if the provider API is gone.
    package let checkBroadcast: @Sendable (_ broadcast: ManagementMessages.NewBroadcast) async -> Check?
    /// Forwards a captured request, by its number in the journal. Throws a `StoreError` if it cannot be forwarded.
    package let release: @Sendable (_ number: UInt64) async throws -> (id: String, answer: ForwardingAnswer)
    /// The service's addresses and authority, in the form of the ready line.
    package let service: @Sendable () -> JSONValue
    /// The team and the app that the first start has made; nil if there was none, or before the service is ready.
    package let first: @Sendable () -> (team: TeamID, bundleID: BundleID)?
    /// The root of the other authority, which rehearsals use, in PEM.
    package let otherAuthority: @Sendable () throws -> String
    /// Why a rehearsal cannot cause a fault of TLS; nil if it can.
    package let obstacle: @Sendable (HandshakeFault) -> String?

    package init(
        journal: RequestJournal,
        observation: RequestObservation,
        devices: VirtualDevices,
        unknownKeys: UnknownKeys? = nil,
        mailboxes: any Mailboxes,
        send: @escaping Send,
        check: @escaping @Sendable (_ notification: ManagementMessages.NewNotification) async -> Check?,
        broadcast: @escaping Broadcast,
        checkBroadcast: @escaping @Sendable (_ broadcast: ManagementMessages.NewBroadcast) async -> Check?,
        release: @escaping @Sendable (_ number: UInt64) async throws -> (id: String, answer: ForwardingAnswer),
        service: @escaping @Sendable () -> JSONValue,
        first: @escaping @Sendable () -> (team: TeamID, bundleID: BundleID)?,
        otherAuthority: @escaping @Sendable () throws -> String,
        obstacle: @escaping @Sendable (HandshakeFault) -> String?,
    ) {
        self.journal = journal
        self.observation = observation
        self.devices = devices
        self.unknownKeys = unknownKeys
        self.mailboxes = mailboxes
        self.send = send
        self.check = check
        self.broadcast = broadcast
        self.checkBroadcast = checkBroadcast
        self.release = release
        self.service = service
        self.first = first
        self.otherAuthority = otherAuthority
        self.obstacle = obstacle
    }
}

extension ManagementAPI {
    /// Whether the service accepts what it does not know (`carillon serve --accept any`). Such a service must not forward
    /// anything, so an app cannot get an upstream then.
    var acceptsAny: Bool { parts.testing?.unknownKeys != nil }

    /// - Parameter what: the feature that the request needs, for the error message, such as "The journal".
    /// - Throws: 403 if the service does not serve the development environment.
    func testing(_ what: String) throws(Problem) -> ManagementTesting {
        guard let testing = parts.testing else {
            throw Problem(
                403, "\(what) is for the development environment only, and this service does not serve it.")
        }
        return testing
    }
}
