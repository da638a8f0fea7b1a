import Delivery
import Matching
import Notifications
import Trust

/// A notification to all subscribers of a channel, after the checks of its fields (docs/channels.md).
struct BroadcastPush {
    let app: App
    let channel: ChannelKey

    /// The largest payload, in bytes.
    static let maximumBytes = 5120

    private static let prefix: StaticString = "/4/broadcasts/apps/"

    /// The bundle ID in the path of a broadcast, which may be none; nil for any other path.
    static func bundleID(inPath value: Span<UInt8>) -> BundleID?? {
        let count = prefix.utf8CodeUnitCount
        guard value.count >= count, value.extracting(first: count).isEqual(to: prefix) else { return nil }
        return .some(BundleID(rawValue: value.extracting(droppingFirst: count).text))
    }

    // MARK: Headers of requests about channels

    static func channel(_ value: Span<UInt8>) -> ProviderRequest.Field<ChannelID> {
        guard !value.isEmpty else { return .absent }
        if value.count <= ChannelID.maximumCount, let id = ChannelID(rawValue: value.text) { return .value(id) }
        return .bad("apns-channel-id must be base64 of at most \(ChannelID.maximumCount) characters.")
    }

    static func requestID(_ value: Span<UInt8>) -> ProviderRequest.Field<NotificationID> {
        if let id = NotificationID(value) { return .value(id) }
        return .bad("apns-request-id must be a canonical UUID: 32 hexadecimal digits in groups of 8-4-4-4-12.")
    }

    /// Parses a push type. Capital letters are allowed, because APNs' documents write `LiveActivity` here, and
    /// `liveactivity` elsewhere.
    static func pushType(_ value: Span<UInt8>) -> ProviderRequest.Field<PushType> {
        guard !value.isEmpty else { return .absent }
        guard isLiveActivity(value.text) else {
            return .bad("apns-push-type must be \(PushType.liveActivity.rawValue) for a broadcast.")
        }
        return .value(.liveActivity)
    }

    static func isLiveActivity(_ text: String) -> Bool { text.lowercased() == PushType.liveActivity.rawValue }
}

// The checks of a broadcast, in the order that docs/channels.md documents.
extension RequestRules {
    /// Makes all checks that need only the headers.
    func broadcast(
        _ request: ProviderRequest,
        _ bundleID: BundleID?,
        in accounts: AccountsSnapshot,
    ) throws(Rejection) -> BroadcastPush {
        try make(RequestCheck.ofShape, of: request)
        try make(RequestCheck.ofSender, of: request)
        if case .bad(let detail) = request.id { throw Rejection(.badMessageID, detail: detail) }
        let channel = try Self.channel(request.channel)
        if case .bad(let detail) = request.expiration { throw Rejection(.badExpirationDate, detail: detail) }
        if case .bad(let detail) = request.priority { throw Rejection(.badPriority, detail: detail) }
        // Apple requires both. In `apple` they may be missing, because clients leave them out.
        if conformance == .strict {
            if case .absent = request.expiration {
                throw Rejection(.badExpirationDate, detail: "A broadcast needs apns-expiration.")
            }
            if case .absent = request.priority {
                throw Rejection(.badPriority, detail: "A broadcast needs apns-priority.")
            }
        }
        switch request.pushType {
        case .absent: throw Rejection(.missingPushType, detail: "A broadcast needs apns-push-type.")
        case .bad(let detail): throw Rejection(.invalidPushType, detail: detail)
        case .value: break
        }
        let app = try app(bundleID, of: request.sender, in: accounts)
        let list = ChannelList(environment: environment, app: app.id)
        return BroadcastPush(app: app, channel: ChannelKey(list: list, id: channel))
    }

    static func channel(_ field: ProviderRequest.Field<ChannelID>) throws(Rejection) -> ChannelID {
        switch field {
        case .absent: throw Rejection(.missingChannelID, detail: "The request needs apns-channel-id.")
        case .bad(let detail): throw Rejection(.badChannelID, detail: detail)
        case .value(let id): return id
        }
    }

    /// Returns the app with this bundle ID if the sender may use its channels.
    func app(
        _ bundleID: BundleID?,
        of sender: ProviderRequest.Sender,
        in accounts: AccountsSnapshot,
    ) throws(Rejection) -> App {
        if let bundleID, bundleID.rawValue.hasSuffix(TopicKind.liveActivity.suffix) {
            throw Rejection(
                .topicDisallowed,
                detail: "The path takes the app's bundle ID, not the topic \(bundleID) of its Live Activities.")
        }
        guard let bundleID, let app = accounts.apps[bundleID] else {
            throw Rejection(.topicMismatch, detail: "There is no app \(bundleID?.rawValue ?? "") here.")
        }
        switch sender {
        case .token(let token):
            guard token.grant == nil else {
                throw Rejection(.forbidden, detail: "A grant sends to its handles, and uses no broadcast channels.")
            }
            guard app.team == token.team else {
                throw Rejection(.topicMismatch, detail: "Team \(token.team) has no app \(bundleID).")
            }
            if let bundleIDs = token.bundleIDs, !bundleIDs.contains(bundleID) {
                throw Rejection(.topicMismatch, detail: "The key \(token.key) is not for the app \(bundleID).")
            }
        case .certificate(let certificate):
            guard bundleID.rawValue == certificate.uid else {
                throw Rejection(.topicMismatch, detail: "The certificate is not for the app \(bundleID).")
            }
        case .management: break
        case .unknown, .rejected, .undecided: throw Rejection(.forbidden)
        }
        return app
    }

    /// Parses the body of a broadcast and creates the notification.
    func notification(
        _ request: ProviderRequest,
        to push: BroadcastPush,
        id: NotificationID,
    ) throws(Rejection) -> Notification {
        let payload = try payload(of: request, for: .liveActivity)
        return Notification(
            id: id, topic: push.app.bundleID.topic(.liveActivity), pushType: .liveActivity,
            priority: request.priority.present ?? .immediate, expiration: request.expiration.present ?? .unspecified,
            payload: payload)
    }
}

extension RequestOutcome {
    /// The outcome of a broadcast: what devices did with it is known of none.
    init(_ result: BroadcastResult) {
        self = result.receivers > 0 ? .delivered : result.isStored ? .stored : .dropped
    }
}
