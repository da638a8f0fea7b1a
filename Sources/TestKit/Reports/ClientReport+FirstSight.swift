import Matching
import Notifications

// Findings about what the service accepted without knowing it (`carillon serve --accept any`): what APNs would have
// checked in addition.
extension ClientReport {
    static let firstSight: [Rule] = [unknownSender, sharedKey, unknownTopic, unknownToken, sharedToken]

    private static let unknownSender: Rule = { requests in
        finding(
            "sender-not-verified", .note, section: "2.3.1",
            advice:
                "APNs checks the signature with the team's key, and whether the key is for the environment and the topic. "
                + "Create the key here to have it checked: carillon key create --team T --key-id K --private-key FILE.",
            requests.filter { $0.facts.unknown.contains(.sender) }
        ) { "\($0) requests were sent with a key or a certificate that this service does not know." }
    }

    private static let sharedKey: Rule = { requests in
        let ofKeys = groups(requests) { request -> KeyID? in
            guard request.facts.unknown.contains(.sender), case .key(let key)? = request.facts.sender else {
                return nil
            }
            return key
        }
        return ofKeys.flatMap { key, requests in
            let teams = Set(requests.compactMap { $0.facts.team?.rawValue }).sorted()
            guard teams.count > 1 else { return [Finding]() }
            return finding(
                "key-of-several-teams", .error, section: "2.3.1",
                advice: "A key belongs to one team. APNs answers InvalidProviderToken to the others.", requests
            ) { _ in "The key \(key) was used for the teams \(teams.joined(separator: ", "))." }
        }
    }

    private static let unknownTopic: Rule = { requests in
        let shown = requests.filter { $0.facts.unknown.contains(.topic) }
        let topics = Set(shown.compactMap(\.facts.topic)).sorted()
        return finding(
            "topic-not-known", .note, section: "2.3.4",
            advice: "APNs checks whether the topic belongs to an app of the team.", shown
        ) { "\($0) requests have a topic that nobody created here: \(topics.prefix(5).joined(separator: ", "))." }
    }

    private static let unknownToken: Rule = { requests in
        finding(
            "device-token-not-known", .note, section: "2.1.4",
            advice: "APNs checks whether it gave out the device token for this app and environment (BadDeviceToken, "
                + "DeviceTokenNotForTopic), and whether the app is still on the device (Unregistered).",
            requests.filter { $0.facts.unknown.contains(.deviceToken) }
        ) { "\($0) requests went to device tokens that this service did not give out." }
    }

    private static let sharedToken: Rule = { requests in
        let tokens = groups(requests) { $0.facts.unknown.contains(.deviceToken) ? $0.facts.token : nil }
        let shown = tokens.filter { Set($0.requests.compactMap { bundleID(of: $0.facts.topic) }).count > 1 }
        return finding(
            "device-token-for-several-apps", .error, section: "2.1.4",
            advice: "A device token is for one app on one device. APNs answers DeviceTokenNotForTopic to the others.",
            shown.flatMap(\.requests)
        ) { "\($0) requests use a device token for the topics of several apps." }
    }

    private static func bundleID(of topic: String?) -> String? {
        topic.map { String($0.dropLast(TopicKind.ofUnknown(topic: $0).suffix.count)) }
    }
}
