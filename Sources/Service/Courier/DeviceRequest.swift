import Delivery
import HTTP2
import NIOCore
import Notifications

/// A request of the device protocol, as far as it has been read.
struct DeviceRequest {
    var method = ""
    var path = ""
    var activationCode: String?
    var body: [UInt8] = []
    /// Whether the body had an acknowledgement that was taken.
    var hasAcknowledged = false
    var isAnswered = false
    /// The requested action; nil until the headers have ended.
    var action: Result<Action, Rejection>?
    /// The time at which it began, in whole seconds. For a stream of acknowledgements it is set again when the
    /// stream of notifications that it belongs to has ended.
    var began: NIODeadline

    init(began: NIODeadline) { self.began = began }

    /// Returns what to do if the request takes too long; nil if it is in time.
    func overdue(after timeout: TimeAmount, now: NIODeadline) -> OverdueRequest? {
        OverdueRequest(began: began, isAnswered: isAnswered, timeout: timeout, now: now)
    }

    /// The requested action.
    enum Action: Equatable {
        case activate
        case register(bundleID: String)
        case unregister(bundleID: String)
        /// The device token of one of the app's services.
        case registerService(bundleID: String, TopicKind)
        /// The device token by which one Live Activity gets its updates.
        case registerActivity(bundleID: String, ActivityID)
        case subscribe(bundleID: String, channel: ChannelID)
        case unsubscribe(bundleID: String, channel: ChannelID)
        /// A subscription of Web Push.
        case subscribeWebPush(bundleID: String, name: String)
        case unsubscribeWebPush(bundleID: String, name: String)
        case listWebPush(bundleID: String)
        case listen
        case acknowledge
        case state
        case renew
        case reset
        case revocations
    }

    /// Determines the action from the headers, or BadPath or MethodNotAllowed if there is none.
    mutating func decide() {
        do throws(Rejection) {
            action = .success(try namedAction())
        } catch {
            action = .failure(error)
        }
    }

    private func namedAction() throws(Rejection) -> Action {
        let route = String(path.prefix { $0 != "?" })
        let app: StaticString = "/1/apps/"
        switch route {
        case "/1/activations": return try only("POST", .activate)
        case "/1/notifications": return try only("GET", .listen)
        case "/1/acknowledgements": return try only("POST", .acknowledge)
        case "/1/state": return try only("POST", .state)
        case "/1/renewals": return try only("POST", .renew)
        case "/1/reset": return try only("POST", .reset)
        case "/1/crl": return try only("GET", .revocations)
        case _ where route.hasPrefix("\(app)"):
            let bundleID = String(route.dropFirst(app.utf8CodeUnitCount))
            if let action = try channelAction(bundleID) { return action }
            if let action = try webPushAction(bundleID) { return action }
            if let action = try serviceAction(bundleID) { return action }
            switch method {
            case "PUT": return .register(bundleID: bundleID)
            case "DELETE": return .unregister(bundleID: bundleID)
            default: throw Rejection(.methodNotAllowed, detail: "This path takes PUT and DELETE.")
            }
        default:
            throw Rejection(.badPath, detail: "The device protocol has no path \(route.prefix(100)).")
        }
    }

    /// - Parameter rest: the path after `/1/apps/`.
    /// - Returns: nil unless it names a channel.
    private func channelAction(_ rest: String) throws(Rejection) -> Action? {
        // An identifier may contain a slash.
        let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "channels" else { return nil }
        let bytes = parts[2].percentDecoded
        guard let text = bytes.map({ String(decoding: $0, as: UTF8.self) }), let channel = ChannelID(rawValue: text)
        else {
            throw Rejection(.badChannelID, detail: "The path must end with a channel's identifier, which is base64.")
        }
        switch method {
        case "PUT": return .subscribe(bundleID: String(parts[0]), channel: channel)
        case "DELETE": return .unsubscribe(bundleID: String(parts[0]), channel: channel)
        default: throw Rejection(.methodNotAllowed, detail: "A channel takes PUT and DELETE.")
        }
    }

    /// - Parameter rest: the path after `/1/apps/`.
    /// - Returns: nil unless it names subscriptions of Web Push.
    private func webPushAction(_ rest: String) throws(Rejection) -> Action? {
        // A name may contain a slash.
        let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[1] == "subscriptions" else { return nil }
        let bundleID = String(parts[0])
        guard parts.count == 3 else { return try only("GET", .listWebPush(bundleID: bundleID)) }
        guard let name = WebPushSubscription.name(inPath: parts[2]) else {
            throw Rejection(
                .badRequestPayload, detail: "A subscription has \(WebPushSubscription.nameRule).")
        }
        switch method {
        case "PUT": return .subscribeWebPush(bundleID: bundleID, name: name)
        case "DELETE": return .unsubscribeWebPush(bundleID: bundleID, name: name)
        default: throw Rejection(.methodNotAllowed, detail: "A subscription takes PUT and DELETE.")
        }
    }

    /// - Parameter rest: the path after `/1/apps/`.
    /// - Returns: nil unless it names a service of an app.
    private func serviceAction(_ rest: String) throws(Rejection) -> Action? {
        let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2 else { return nil }
        if parts.count == 3 {
            guard parts[1] == TopicKind.liveActivity.serviceName ?? "", let activity = ActivityID(String(parts[2]))
            else {
                throw Rejection(.badPath, detail: "Only liveactivity takes one more part, the UUID of a Live Activity.")
            }
            return try only("PUT", .registerActivity(bundleID: String(parts[0]), activity))
        }
        guard let service = TopicKind(serviceName: String(parts[1])) else {
            let names = TopicKind.allCases.compactMap(\.serviceName).joined(separator: ", ")
            throw Rejection(
                .badPath, detail: "An app has no service \(parts[1].prefix(100)); the services are \(names).")
        }
        return try only("PUT", .registerService(bundleID: String(parts[0]), service))
    }

    private func only(_ allowed: String, _ action: Action) throws(Rejection) -> Action {
        guard method == allowed else {
            throw Rejection(.methodNotAllowed, detail: "This path takes \(allowed) only.")
        }
        return action
    }
}
