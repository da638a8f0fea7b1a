import Delivery
import Notifications
import Trust

/// A notification that was sent with the key of a grant, to a handle.
final class GrantPush {
    let grant: Grant
    let topic: AddressedTopic
    let app: App
    let handle: Handle
    /// Where it goes, if the app has an upstream; nil if it is delivered here.
    let upstream: UpstreamPush?

    init(_ grant: Grant, _ topic: AddressedTopic, _ app: App, _ handle: Handle, _ upstream: UpstreamPush?) {
        self.grant = grant
        self.topic = topic
        self.app = app
        self.handle = handle
        self.upstream = upstream
    }
}

extension RequestRules {
    /// Makes all checks of a grant's notification that need only the headers.
    /// - Parameter time: the service's time.
    func push(_ request: ProviderRequest, of grant: Grant, at time: Timestamp) throws(Rejection) -> GrantPush {
        try make(RequestCheck.ofShape, of: request)
        try make(RequestCheck.ofSender, of: request)
        let upstream = request.topic.present?.upstream(in: environment)
        let refusal = try checkForm(of: request, comparing: upstream)
        guard let topic = request.topic.present, let app = topic.app else { throw Rejection(.missingTopic) }
        // The limits bind also if the upstream compares its answers.
        try grant.limits.check(
            GrantLimits.Request(
                topic: topic.name, pushType: request.pushType.present, priority: priority(of: request)),
            at: time)
        try checkReadableHeaders(of: request, by: grant.limits)
        // A grant sends to its handles only. A device token is refused before anything is looked up.
        guard let handle = Handle(try request.path.writtenToken()) else { throw .noHandle }
        return GrantPush(
            grant, topic, app, handle,
            upstream.map { UpstreamPush($0, topic, app, token: handle.bytes, grant: grant, at: time, refusal: refusal) }
        )
    }

    /// Checks the headers that could have a message for the publisher. If the upstream compares its answers, it gets the values
    /// as they came, also those that are not valid.
    private func checkReadableHeaders(of request: ProviderRequest, by limits: GrantLimits) throws(Rejection) {
        guard limits.encrypted != nil else { return }
        let collapseID = request.texts?[.collapseID] ?? request.collapseID.present?.rawValue
        if let collapseID, !collapseID.isEmpty {
            try limits.check(header: "apns-collapse-id", collapseID, .badCollapseID)
        }
        guard let texts = request.texts else { return }
        let others: [(RequestHeader, Rejection.Reason)] = [
            (.id, .badMessageID), (.expiration, .badExpirationDate), (.priority, .badPriority),
            (.pushType, .invalidPushType),
        ]
        for (header, reason) in others {
            guard let value = texts[header], !value.isEmpty else { continue }
            try limits.check(header: "\(header.name)", value, reason)
        }
    }

    /// The priority for the limits: 10 if there is no header (Guide, Table 8-2); nil if its value is none.
    private func priority(of request: ProviderRequest) -> Priority? {
        if case .absent = request.priority { .immediate } else { request.priority.present }
    }
}

extension Rejection {
    static let noHandle = Rejection(
        .badDeviceToken, detail: "A grant sends to the handles that its client key has made, and this is none of them.")

    /// The app is forwarded, but not in this environment: a build of Xcode has a token of Apple's development environment.
    static func detailWithoutUpstream(_ bundleID: BundleID, _ environment: Environment) -> String {
        "The app \(bundleID) has no upstream in the \(environment.rawValue) environment, so a device token of Apple's is none "
            + "here: set one with carillon app upstream set --environment \(environment.rawValue)."
    }

    /// Another grant has made the handle, or it is for another environment.
    /// - Returns: nil if the grant may use the handle in the environment.
    static func ofHandle(
        _ stored: StoredHandle,
        _ grant: GrantID,
        _ environment: Environment,
        _ sweep: HandleSweep,
        _ clock: ServiceClock,
    ) -> Rejection? {
        guard stored.grant == grant else {
            return Rejection(.deviceTokenNotForTopic, detail: "The handle belongs to another grant.")
        }
        guard stored.environment == environment else {
            return Rejection(
                .badDeviceToken,
                detail: "The handle is for the \(stored.environment.rawValue) environment.")
        }
        guard let end = sweep.end(of: stored) else { return nil }
        return Rejection(
            end.reason, timestamp: clock.clientTime(of: end.moment).milliseconds,
            detail:
                "The handle has ended: the upstream no longer knows its device token, or the app has not registered it for "
                + "\(sweep.age / 86_400_000) days. It is so until the app registers its device token again.")
    }
}
