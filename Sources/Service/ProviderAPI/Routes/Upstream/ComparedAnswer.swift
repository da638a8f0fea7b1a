import Delivery
import Notifications

/// Compares an upstream's answer with what this service would have answered.
enum ComparedAnswer {
    /// - Returns: what this service would have answered, a reason or "accepted", if the upstream's answer differs from it in
    ///   something that both can judge; nil otherwise.
    static func difference(own push: UpstreamPush, _ answer: UpstreamAnswer) -> String? {
        guard push.upstream.compares else { return nil }
        if let refusal = push.refusal {
            // An upstream that refuses for another cause, such as the device token, may not have come to this one.
            return answer.reason == refusal.reason.rawValue ? nil : refusal.reason.rawValue
        }
        guard answer.status != 200 else { return nil }
        return isOfForm(answer) ? "accepted" : nil
    }

    /// Whether the answer is about the request's headers or its payload. Only the upstream knows its device tokens, its rates
    /// and its own state, and it judges other credentials.
    private static func isOfForm(_ answer: UpstreamAnswer) -> Bool {
        answer.reason.flatMap(Rejection.Reason.init(rawValue:))?.row.advice != .forgetDeviceToken
            && [400, 404, 405, 413].contains(answer.status)
    }
}
