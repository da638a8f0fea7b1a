import Delivery
import Notifications
import Trust

// The checks that need the body, and what is made of it.
extension RequestRules {
    /// Makes the checks that need the body, and creates the notification.
    func notification(
        _ request: ProviderRequest,
        to push: DevicePush,
        id: NotificationID,
    ) throws(Rejection) -> Notification {
        var findings = Findings()
        findings.activity = push.activity
        try make(RequestCheck.ofPayload, of: request, &findings)
        guard let payload = findings.payload, let priority = findings.priority else {
            throw Rejection(.internalServerError)
        }
        return Notification(
            id: id,
            topic: push.topic.name,
            pushType: request.pushType.present,
            priority: priority,
            expiration: request.expiration.present ?? .unspecified,
            collapseID: request.collapseID.present,
            activity: push.target,
            payload: payload,
        )
    }

    /// Checks how much of the body has come.
    func checkSize(of request: ProviderRequest) throws(Rejection) {
        guard let limit = request.topic.present?.payloadLimit, request.received > limit else { return }
        throw .payloadTooLarge(limit)
    }

    /// Rejects a device token of a Live Activity that has lasted as long as one can.
    func checkActivity(of request: ProviderRequest, _ findings: Findings) throws(Rejection) {
        guard let activity = findings.activity, let app = request.topic.present?.app?.id,
            activity.ends <= clock.teams.time(clock.time, of: app)
        else { return }
        let ended = clock.clientTime(of: clock.teams.serviceTime(of: activity.ends, app))
        throw Rejection(
            .expiredToken, timestamp: ended.milliseconds,
            detail: "The Live Activity of the device token has ended.")
    }

    /// Parses the body.
    /// - Parameter pushType: decides with `strict` which keys the payload may have.
    func payload(of request: ProviderRequest, for pushType: PushType?) throws(Rejection) -> Payload {
        if request.isCompressed {
            throw Rejection(.payloadEmpty, detail: "The body must not be compressed.")
        }
        let payload: Payload
        do {
            payload = try Payload(request.body)
        } catch {
            throw Rejection(.payloadEmpty, detail: error.description)
        }
        if conformance == .strict, !payload.contents.contains(.aps) {
            throw Rejection(.payloadEmpty, detail: "The payload holds no aps dictionary.")
        }
        if conformance == .strict, let fault = StrictPayload.fault(in: request.body, for: pushType) {
            throw Rejection(.payloadEmpty, detail: fault)
        }
        return payload
    }

    /// Returns the priority. A background notification, or one whose payload has only content-available, must not
    /// have priority 10 (Guide, Table 8-2). Without the header, such a notification gets priority 5. This applies
    /// only to the app's own topic with push type `background` or none: calls and complications are urgent with any
    /// payload.
    func priority(of request: ProviderRequest, _ findings: Findings) throws(Rejection) -> Priority {
        let type = request.pushType.present
        let isBackground = type == .background
        let isSilent = findings.payload?.isSilent == true && type == nil && request.topic.present?.kind == .app
        guard isSilent || isBackground else { return request.priority.present ?? .immediate }
        switch request.priority.present {
        case .immediate:
            let detail =
                isBackground
                ? "Priority 10 is not for background notifications; use 5."
                : "Priority 10 must trigger an alert, sound or badge; this payload holds only content-available."
            throw Rejection(.badPriority, detail: detail)
        case nil where conformance == .strict:
            let detail = "Without apns-priority the priority is 10, which is not for a silent notification."
            throw Rejection(.badPriority, detail: detail)
        case let priority:
            return priority ?? .considerate
        }
    }
}
