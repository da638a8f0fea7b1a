import Delivery
import Notifications
import Trust

/// The values of a request that only a broadcast has (docs/channels.md). It is a class, so that other requests have
/// only a nil reference instead of these values.
final class BroadcastRequest {
    private static let prefix: StaticString = "/4/broadcasts/apps/"

    /// The bundle ID in the path; nil if there is none.
    let bundleID: BundleID?
    private(set) var channel = ProviderRequest.Field<ChannelID>.absent
    private(set) var id = ProviderRequest.Field<NotificationID>.absent
    private(set) var pushType = ProviderRequest.Field<PushType>.absent
    /// The accounts that the checks of the headers used. Nil after the decision.
    var accounts: AccountsSnapshot?
    /// The decision that follows from the headers alone; nil until all headers have arrived.
    private(set) var verdict: Result<Addressed, Rejection>?

    /// The app and the channel that the headers name, after all checks that need no body.
    struct Addressed {
        let app: App
        let channel: ChannelKey
    }

    init(path: Span<UInt8>) {
        bundleID = BundleID(rawValue: path.extracting(droppingFirst: Self.prefix.utf8CodeUnitCount).text)
    }

    /// Whether a path is that of a broadcast.
    static func isPath(_ value: Span<UInt8>) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return value.count >= count && value.extracting(first: count).isEqual(to: prefix)
    }

    func read(_ header: RequestHeader, _ value: Span<UInt8>) {
        switch header {
        case .channelID: channel = Self.channel(value)
        case .requestID: id = Self.requestID(value)
        case .pushType: pushType = Self.pushType(value)
        default: break
        }
    }

    /// Gives the request an identifier if it has none.
    func identify(using random: inout IdentifierRandom) -> NotificationID { id.valueOrRandom(using: &random) }

    func checkPath() throws(Rejection) {
        guard bundleID == nil else { return }
        throw Rejection(.badPath, detail: "The path must be /4/broadcasts/apps/ and a bundle ID.")
    }

    func decide(_ request: ProviderRequest, by rules: RequestRules) {
        defer { accounts = nil }
        do throws(Rejection) {
            verdict = .success(try rules.check(request, self))
        } catch {
            verdict = .failure(error)
        }
    }

    // MARK: Headers of all requests about channels

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
    private static func pushType(_ value: Span<UInt8>) -> ProviderRequest.Field<PushType> {
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
    func check(
        _ request: ProviderRequest,
        _ broadcast: BroadcastRequest,
    ) throws(Rejection) -> BroadcastRequest.Addressed {
        try make(RequestCheck.ofShape, of: request)
        try make(RequestCheck.ofSender, of: request)
        if case .bad(let detail) = broadcast.id { throw Rejection(.badMessageID, detail: detail) }
        let channel = try Self.channel(broadcast.channel)
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
        switch broadcast.pushType {
        case .absent: throw Rejection(.missingPushType, detail: "A broadcast needs apns-push-type.")
        case .bad(let detail): throw Rejection(.invalidPushType, detail: detail)
        case .value: break
        }
        let app = try app(broadcast.bundleID, of: request.sender, in: broadcast.accounts)
        let list = ChannelList(environment: environment, app: app.id)
        return BroadcastRequest.Addressed(app: app, channel: ChannelKey(list: list, id: channel))
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
        in accounts: AccountsSnapshot?,
    ) throws(Rejection) -> App {
        if let bundleID, bundleID.rawValue.hasSuffix(TopicKind.liveActivity.suffix) {
            throw Rejection(
                .topicDisallowed,
                detail: "The path takes the app's bundle ID, not the topic \(bundleID) of its Live Activities.")
        }
        guard let bundleID, let app = accounts?.apps[bundleID] else {
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
}
