import Delivery
import Notifications
import Trust

// The topic: that the request has one, that the sender may send to it, and that it fits the push type.
extension RequestRules {
    func checkTopic(of request: ProviderRequest) throws(Rejection) {
        switch request.topic {
        case .absent: throw Rejection(.missingTopic, detail: Self.missingTopic(request.sender))
        case .bad(let detail): throw Rejection(.badTopic, detail: detail)
        case .value: break
        }
    }

    private static func missingTopic(_ sender: ProviderRequest.Sender) -> String {
        if case .certificate = sender { return "The certificate covers several topics, so apns-topic is required." }
        return "With a provider token the apns-topic header is required."
    }

    /// Checks that an app has this topic, and that the sender may send to it.
    func checkApp(of request: ProviderRequest) throws(Rejection) {
        guard let topic = request.topic.present else { return }
        switch request.sender {
        case .token(let token):
            guard let app = topic.app, app.team == token.team else {
                throw Rejection(.topicDisallowed, detail: "Team \(token.team) has no app with the topic \(topic.name).")
            }
            if let bundleIDs = token.bundleIDs, !bundleIDs.contains(app.bundleID) {
                throw Rejection(.topicDisallowed, detail: "The key \(token.key) is not for the app \(app.bundleID).")
            }
        case .certificate(let certificate):
            guard certificate.allows(topic.name) else {
                throw Rejection(.topicDisallowed, detail: "The certificate is not for the topic \(topic.name).")
            }
            guard topic.app?.bundleID.rawValue == certificate.uid else {
                let detail = "The topic \(topic.name) is not one of the app \(certificate.uid) here."
                throw Rejection(.forbidden, detail: detail)
            }
        case .management:
            guard topic.app != nil else {
                throw Rejection(.topicDisallowed, detail: "There is no app with the topic \(topic.name).")
            }
        case .unknown, .rejected, .undecided:
            throw Rejection(.forbidden)
        }
    }

    func checkTopicForPushType(of request: ProviderRequest) throws(Rejection) {
        guard case .value(let type) = request.pushType, let topic = request.topic.present else { return }
        guard let kind = type.topicKind else {
            // For a device management notification, the topic is the UID of the certificate's subject.
            guard case .certificate(let certificate) = request.sender, topic.name == certificate.uid else {
                let detail = "The push type mdm goes with the topic that is the UID of a provider certificate."
                throw Rejection(.topicDisallowed, detail: detail)
            }
            return
        }
        guard kind == topic.kind else {
            let needed = topic.app?.bundleID.topic(kind) ?? "of the app with the suffix \(kind.suffix)"
            let detail = "The push type \(type.rawValue) goes with the topic \(needed)."
            throw Rejection(.topicDisallowed, detail: detail)
        }
        guard conformance == .strict, BundleID.isOfDeviceManagement(topic.name) else { return }
        let detail =
            "The push type \(type.rawValue) goes with an app's bundle ID, and \(topic.name) is a topic of device "
            + "management, whose push type is mdm."
        throw Rejection(.topicDisallowed, detail: detail)
    }
}
