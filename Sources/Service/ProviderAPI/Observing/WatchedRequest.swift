import Delivery
import Matching
import Notifications
import Trust

/// The parts of a request that are kept only for observers: its headers, and the body if the request is already
/// rejected because of its headers.
final class WatchedRequest {
    /// The request's number; nil until the provider API has decided and told the observer.
    var number: UInt64?
    private(set) var headers: [RequestFacts.Header] = []
    var practices: Set<RequestFacts.Practice>
    /// The body of a rejected request. Its size is limited, because the connection also rejects a body that is too
    /// long.
    private(set) var refusedBody: [UInt8] = []

    init(_ practices: Set<RequestFacts.Practice>) { self.practices = practices }

    /// Adds a header. The HTTP/2 session limits the total size of a request's headers.
    func append(name: Span<UInt8>, value: Span<UInt8>) {
        let text = value.text
        headers.append(
            RequestFacts.Header(
                name: name.text, value: name.isEqual(to: "authorization") ? Self.withoutSignature(text) : text))
    }

    func append(_ bytes: Span<UInt8>) { refusedBody.append(bytes) }

    /// The size of the whole body in bytes, if not all of it was kept; nil otherwise.
    /// - Parameters:
    ///   - kept: the number of bytes that were kept.
    ///   - received: how many bytes of the body have arrived at least.
    func bodyBytes(kept: Int, received: Int) -> Int? {
        guard received > kept else { return nil }
        let announced = headers.first { $0.name == "content-length" }.flatMap { Int($0.value, radix: 10) }
        return max(received, announced ?? 0)
    }

    /// The value of the first header with this name.
    func value(_ name: RequestHeader) -> String? {
        let name = "\(name.name)"
        return headers.first { $0.name == name }?.value
    }

    /// Returns the value of `authorization` without the secret part, so that nobody who reads the journal can send as
    /// the provider. Of a token, the third part is removed (RFC 7515, 7.1); of anything else, everything after the
    /// scheme.
    static func withoutSignature(_ authorization: String) -> String {
        let parts = authorization.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return String(authorization.prefix { $0 != " " }) }
        return "\(parts[0]).\(parts[1])."
    }
}

extension ProviderRequest {
    /// Keeps the beginning of a body that is too long, if somebody observes the request.
    /// - Parameters:
    ///   - bytes: what has arrived after ``body``.
    ///   - limit: how many bytes to keep in all.
    func keepBeginning(_ bytes: Span<UInt8>, limit: Int) {
        guard watched != nil else { return }
        let room = max(0, limit - body.count)
        body.append(bytes.extracting(first: min(bytes.count, room)))
    }

    /// Returns the request as the journal and rehearsals see it.
    /// - Parameters:
    ///   - submission: the submission of an accepted request; nil if the request is rejected.
    ///   - rejection: why the request is rejected; nil if it is accepted.
    func facts(
        _ watched: WatchedRequest,
        _ submission: Submission?,
        _ rejection: Rejection?,
        id: NotificationID,
        connection: UInt64,
        at time: Timestamp,
        by rules: RequestRules,
        _ accounts: AccountsSnapshot,
    ) -> RequestFacts {
        let topic =
            broadcast?.bundleID?.topic(.liveActivity) ?? topic.present?.name ?? watched.value(.topic)
        let (team, sender) = sender(in: accounts)
        var facts = RequestFacts(
            time: time,
            connection: connection,
            environment: rules.environment,
            interface: .http2,
            team: team ?? topic.flatMap { accounts.app(forTopic: $0)?.app.team },
            sender: sender,
            headers: watched.headers,
            token: Self.writtenToken(watched),
            device: submission?.destination.device ?? device(by: rules),
            topic: topic,
            pushType: broadcast?.pushType.present?.rawValue ?? pushType.present?.rawValue ?? watched.value(.pushType),
            apnsID: id,
            collapseID: collapseID.present?.rawValue ?? watched.value(.collapseID),
            channel: broadcast == nil ? nil : broadcast?.channel.present?.rawValue ?? watched.value(.channelID),
            body: submission?.notification.payload.json ?? (body.isEmpty ? watched.refusedBody : body),
            status: rejection?.reason.status ?? 200,
            reason: rejection?.reason.rawValue,
        )
        // The payload of an accepted request is whole. It is shorter than the body if that had white space.
        if rejection != nil { facts.bodyBytes = watched.bodyBytes(kept: facts.body.count, received: received) }
        facts.practices = watched.practices
        facts.isForwarded = forwarded != nil
        facts.unknown = unknown(by: rules)
        facts.activityToken = activityToken
        return facts
    }

    /// What the service did not know of an accepted request.
    private func unknown(by rules: RequestRules) -> Set<RequestFacts.Unknown> {
        guard let firstSight = rules.firstSight else { return [] }
        var unknown: Set<RequestFacts.Unknown> = sender.isVerified ? [] : [.sender]
        guard case .success(let addressed)? = verdict else { return unknown }
        if firstSight.hasMade(addressed.destination.app) { unknown.insert(.topic) }
        let token: [UInt8]? =
            switch path {
            case .deviceToken(let token): token.array
            case .otherDeviceToken(let token): token
            default: nil
            }
        if let token, firstSight.device(of: token) == addressed.destination.device { unknown.insert(.deviceToken) }
        return unknown
    }

    private var activityToken: RequestFacts.ActivityToken? {
        guard case .success(let addressed)? = verdict else { return nil }
        return addressed.target.map { RequestFacts.ActivityToken($0) }
    }

    func sender(in accounts: AccountsSnapshot) -> (TeamID?, RequestFacts.Sender?) {
        switch sender {
        case .token(let token): (token.team, .key(token.key))
        case .certificate(let certificate):
            (
                accounts.team(
                    ofCertificate: certificate.serial, uid: certificate.uid, foreignTeam: certificate.foreignTeam),
                .certificate(certificate.serial)
            )
        case .management, .unknown, .rejected, .undecided: (nil, nil)
        }
    }

    /// Returns the device that a rejected request's device token names; nil if the token cannot be opened.
    func device(by rules: RequestRules) -> DeviceID? {
        let (app, service) = (topic.present?.app?.id, topic.present?.kind ?? .app)
        func named(_ token: [UInt8]) -> DeviceID? {
            rules.names?.meaning(of: token, app: app, service: service)?.contents.device
                ?? rules.firstSight?.device(of: token)
        }
        switch path {
        case .deviceToken(let token):
            return rules.tokenKeys.open(token, environment: rules.environment)?.device ?? named(token.array)
        case .otherDeviceToken(let token):
            return named(token)
        case .badDeviceToken, .bad, .withoutDeviceToken, .broadcast: return nil
        }
    }

    /// Returns the text in the path's place for a device token, even if it is not a device token.
    private static func writtenToken(_ watched: WatchedRequest) -> String? {
        watched.value(.path).flatMap(token(inPath:))
    }

    /// The text in the place of the device token, in lower case; nil if the path is not a device's.
    static func token(inPath path: String) -> String? {
        let prefix = "/3/device/"
        guard path.hasPrefix(prefix), path.utf8.count > prefix.utf8.count else { return nil }
        return path.dropFirst(prefix.count).lowercased()
    }
}

extension RequestFacts.ActivityToken {
    init(_ target: ActivityTarget) {
        switch target {
        case .start: self = .start
        case .one: self = .update
        }
    }
}
