import Delivery
import Notifications
import Trust

// Notifications of the management API whose app has an upstream.
extension ProviderAPI {
    /// Makes the checks of a notification for an upstream that come after those of its values.
    func check(_ request: ProviderRequest, for push: UpstreamPush, by rules: RequestRules) throws(Rejection) {
        if let refusal = push.refusal { throw refusal }
        try rules.checkBody(of: request, for: nil)
        guard !push.upstream.captures else {
            throw Rejection(
                .serviceUnavailable,
                detail: "The app's requests are captured, and the management API sends none of them.")
        }
        guard push.upstream.credentials != .passthrough else {
            throw Rejection(
                .missingProviderToken,
                detail: "The app's upstream gets the client's provider token, and the management API has none.")
        }
    }

    /// Forwards a notification, and waits for the upstream's answer.
    func forward(_ request: ProviderRequest, _ push: UpstreamPush, _ id: NotificationID) async -> Outcome {
        guard let forwarding else { return .rejected(Rejection(.serviceUnavailable)) }
        let pushed = push.makePush(of: request, id: id, by: forwarding.name)
        let ended = await forwarding.port.forward(pushed, to: push.upstream)
        for step in ended.steps(refusal: .serviceUnavailable) {
            deliveryLog.record(DeliveryEvent(time: clock.time, step: step, subject: request.subject(id)))
        }
        switch ended {
        case .answered(let answer):
            guard answer.status != 200 else { return .accepted }
            guard let reason = answer.reason.flatMap(Rejection.Reason.init(rawValue:)) else {
                return .rejected(
                    Rejection(
                        .serviceUnavailable,
                        detail: "The upstream refused with \(answer.status) \(answer.reason ?? "")."))
            }
            return .rejected(Rejection(reason, timestamp: answer.timestamp, detail: answer.detail))
        case .failed(let cause, _):
            return .rejected(Rejection(.serviceUnavailable, detail: "The upstream has not answered: \(cause)"))
        }
    }
}
