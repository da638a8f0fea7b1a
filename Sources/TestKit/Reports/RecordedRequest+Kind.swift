import Matching
import Notifications

// What kind of notification a request has: what is a fault for one kind is right for another.
extension RecordedRequest {
    /// The beginning of the topics of Wallet's passes.
    private static let passPrefix = "pass."
    /// The beginning of the topics of device management.
    private static let managementPrefix = "com.apple.mgmt."

    /// Whether the notification tells Wallet that a pass has changed. Its payload is an empty dictionary.
    var isForPass: Bool { facts.topic?.hasPrefix(Self.passPrefix) == true }

    /// Whether the notification only says that there is something to fetch, or that something happens now: a command of
    /// device management, a new version of a pass, a call. Such a notification may be equal to the previous one and is
    /// another one nevertheless.
    var isSignal: Bool {
        guard let topic = facts.topic else { return false }
        if isForPass || topic.hasPrefix(Self.managementPrefix) { return true }
        switch facts.pushType.flatMap(PushType.init(rawValue:))?.known {
        // An update of a Live Activity has its time, so an equal one is the same one.
        case .liveActivity: return false
        case .background, .voip, .complication, .fileProvider, .location, .pushToTalk, .controls, .widgets, .mdm:
            return true
        case .alert, nil:
            let kind = facts.pushType == nil ? TopicKind.ofUnknown(topic: topic) : .app
            guard kind == .app else { return kind != .liveActivity }
            // A payload that cannot be read is no signal.
            guard let payload = try? Payload(facts.body) else { return false }
            return payload.contents.isDisjoint(with: [.alert, .badge, .sound])
        }
    }

    /// Whether the notification is a silent one, which must not have priority 10 (Guide, 2.2.2 and Table 8-2). A push for
    /// a service of the app, such as a call, is not, whatever its payload has (docs/current-apns.md).
    /// - Parameter payload: its payload.
    func isSilent(_ payload: Payload) -> Bool {
        switch facts.pushType {
        case PushType.background.rawValue: true
        case PushType.alert.rawValue: payload.isSilent
        case nil: payload.isSilent && facts.topic.map(TopicKind.isOfService) != true
        default: false
        }
    }

    /// What the attempts to send one notification have in common. A signal is equal to other ones, so it needs the same
    /// identifier too.
    var attempt: Attempt {
        Attempt(content: content, id: isSignal ? headers["apns-id"]?.lowercased() ?? "\(facts.apnsID)" : nil)
    }

    struct Attempt: Hashable {
        let content: Content
        let id: String?
    }
}
