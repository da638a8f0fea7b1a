package import Notifications

/// A provider's request as the journal and rehearsals see it: its content, its sender, and the provider API's decision.
package struct RequestFacts: Sendable {
    /// The request's number. The service counts requests from 1; 0 before the request has a number.
    package var number: UInt64 = 0
    /// When the provider API decided.
    package var time: Timestamp
    /// The same by the machine's clock, which clients follow too; ``time`` is ahead of it if a test advanced a clock.
    package var machineTime: Timestamp
    /// The connection's number. The service counts the connections of providers from 1.
    package var connection: UInt64
    package var environment: Environment
    package var interface: ProviderInterface
    /// The team whose request it is: the sender's. If the sender was not recognised, the team that owns the topic's
    /// app.
    package var team: TeamID?
    /// The sender; nil if it could not be verified.
    package var sender: Sender?
    /// The headers in their order, with pseudo-headers. The value of `authorization` is without its signature.
    package var headers: [Header]
    /// The device token as the provider wrote it, in lower-case hexadecimal digits; nil if there was none.
    package var token: String?
    /// The device that the token names.
    package var device: DeviceID?
    package var topic: String?
    package var pushType: String?
    /// The identifier that the answer has, whoever chose it.
    package var apnsID: NotificationID
    package var collapseID: String?
    /// The broadcast channel that the request names, or that it has created.
    package var channel: String?
    /// The name of the Web Push subscription that the message is for.
    package var subscription: String?
    /// The size of a message of Web Push, in bytes. The journal has no body of it, because it is encrypted.
    package var messageBytes: Int?
    /// What a message of Web Push says, if it is for a subscription of a virtual device, which has the keys.
    package var text: String?
    /// The bytes of the payload, whether they are JSON or not.
    package var body: [UInt8]
    /// The size of the whole body in bytes, if ``body`` has only its beginning or nothing; nil if ``body`` has all of
    /// it. This is what `content-length` says. Without this header it is the number of bytes that had arrived when the
    /// request was rejected, so the whole body may be larger.
    package var bodyBytes: Int?
    /// The provider API's decision: 200 if the notification is handed over. The binary API has its error packet's status.
    package var status: Int
    package var reason: String?
    package var outcome: RequestOutcome
    /// The purpose of the device token, if it is one of Live Activities and the headers passed their checks.
    package var activityToken: ActivityTokenKind?
    /// What the service did not know and accepted nevertheless (`carillon serve --accept any`).
    package var unknown: Set<Unknown> = []
    /// What the client does in HTTP/2 against the Guide.
    package var practices: Set<Practice> = []
    /// Whether the notification goes to an upstream, which judges the device token. What becomes of it there is not known.
    package var isForwarded = false
    /// What this service would have answered, a reason or `accepted`, if the upstream's answer differs from it.
    package var ownAnswer: String?
    /// The name in the connection's TLS handshake, if it was observed.
    package var serverName: String?
    /// Set if this is not a request, but a connection whose TLS handshake failed.
    package var failedHandshake: FailedHandshake?

    package struct FailedHandshake: Sendable, Hashable {
        /// The client's address and port; empty if the system does not know them.
        package var address: String
        package var result: HandshakeResult
    }

    /// A connection whose TLS handshake failed. It has no team, because nobody was recognised.
    package init(_ connection: ConnectionFacts, _ result: HandshakeResult, at time: Timestamp) {
        self.init(
            time: time, connection: connection.number, environment: connection.environment,
            interface: connection.interface, apnsID: NotificationID(high: 0, low: 0), status: 0)
        serverName = connection.serverName
        failedHandshake = FailedHandshake(address: connection.address, result: result)
        outcome = .failed
    }
    /// The parsed payload; nil if it was not parsed.
    private var parsed: JSONValue??

    package enum Practice: Sendable, Hashable, CaseIterable {
        /// It puts paths or provider tokens into the table of headers (Guide, 2.3.4.1).
        case filledTable
        /// The connection has had a PRIORITY frame (Guide, 2.3.3).
        case priorityFrames
        /// The client's window has no room for an answer.
        case narrowWindow
        /// The connection has had many more WINDOW_UPDATE frames than its answers need.
        case windowUpdates
        /// The connection was idle for a long time, and was used without a PING (Guide, 2.3.3.1).
        case unchecked
    }

    package enum Unknown: Sendable, Hashable {
        /// The sender's key, or the authority of its certificate. Nobody has verified who the sender is.
        case sender
        /// The topic: its app was made at first sight.
        case topic
        /// The device token: its device was made at first sight.
        case deviceToken
    }

    /// The kinds of device tokens of Live Activities, which are easily mixed up.
    package enum ActivityTokenKind: String, Sendable, Hashable {
        /// The one of the app's service, which starts Live Activities.
        case start
        /// A Live Activity's own, which updates it.
        case update
    }

    package enum Sender: Sendable, Hashable {
        case key(KeyID)
        case certificate(CertificateSerial)
    }

    package struct Header: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Keeps of `authorization` what is no secret, so that nobody who reads the journal can send as the provider: a token
        /// without its signature, which is behind the second period (RFC 7515, 7.1), and of anything else the scheme.
        package init(authorization value: String) {
            let parts = value.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            self.init(
                name: "authorization",
                value: parts.count == 3 ? "\(parts[0]).\(parts[1])." : String(value.prefix { $0 != " " }))
        }
    }

    package init(
        time: Timestamp,
        connection: UInt64,
        environment: Environment,
        interface: ProviderInterface,
        team: TeamID? = nil,
        sender: Sender? = nil,
        headers: [Header] = [],
        token: String? = nil,
        device: DeviceID? = nil,
        topic: String? = nil,
        pushType: String? = nil,
        apnsID: NotificationID,
        collapseID: String? = nil,
        channel: String? = nil,
        body: [UInt8] = [],
        status: Int = 200,
        reason: String? = nil,
    ) {
        self.time = time
        machineTime = time
        self.connection = connection
        self.environment = environment
        self.interface = interface
        self.team = team
        self.sender = sender
        self.headers = headers
        self.token = token
        self.device = device
        self.topic = topic
        self.pushType = pushType
        self.apnsID = apnsID
        self.collapseID = collapseID
        self.channel = channel
        self.body = body
        self.status = status
        self.reason = reason
        // Web Push has 201.
        outcome = (200..<300).contains(status) ? .pending : .rejected
    }

    /// The payload; nil if the body is not a JSON dictionary. It is parsed at each access, because few requests are
    /// ever compared by it, unless ``parsePayload()`` was called.
    package var payload: JSONValue? { parsed ?? JSONValue(body) }

    /// Parses the payload once, for a caller that compares it several times. This copy then takes several times as much
    /// memory.
    package mutating func parsePayload() {
        if parsed == nil { parsed = .some(JSONValue(body)) }
    }
}

/// The interface that a request came through.
package enum ProviderInterface: String, Sendable, Hashable, CaseIterable {
    /// The HTTP/2 API (Guide, 2.3).
    case http2 = "h2"
    /// The binary API (Guide, 3.1 and 3.2).
    case binary
    /// The management of broadcast channels (docs/channels.md).
    case channels
    /// Web Push (docs/web-push.md). Reports are not about it.
    case webPush = "webpush"
    /// The management API, which sends without a provider. Rehearsals and reports are not about it.
    case management

    /// The interfaces of providers. A rehearsal may disturb their connections: each belongs to one environment.
    package static let ofProviders: [ProviderInterface] = [.http2, .binary, .channels]
    /// The interfaces whose requests a rehearsal may disturb.
    package static let ofSenders = ofProviders + [.webPush]
    /// The interfaces by which providers send notifications.
    package static let ofNotifications: [ProviderInterface] = [.http2, .binary]
}

/// The outcome of a request's notification.
package enum RequestOutcome: String, Sendable, Hashable, CaseIterable {
    /// No outcome is known yet.
    case pending
    /// The device has acknowledged the notification.
    case delivered
    /// The notification is in its mailbox.
    case stored
    /// A newer notification replaced it.
    case replaced
    case expired
    /// The notification was dropped, because its only delivery attempt failed or the app is gone.
    case dropped
    /// The request was rejected.
    case rejected
    /// A rehearsal lost the notification: the answer was 200, and it is never delivered.
    case lost
    /// There was no request, because the TLS handshake of the connection failed.
    case failed
}
