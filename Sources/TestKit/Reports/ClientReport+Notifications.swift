import Matching
import Notifications

// Findings about the contents of notifications.
extension ClientReport {
    static let notifications: [Rule] = [
        silentPriority, missingPushType, misplacedKeys, describedTokens, upperCase, activityTokens, activityFaults,
    ]

    private static let silentPriority: Rule = { requests in
        let shown = requests.filter { request in
            guard request.isHTTP2, let payload = try? Payload(request.facts.body) else { return false }
            return request.isSilent(payload) && request.headers["apns-priority"] ?? "10" == "10"
        }
        return finding(
            "silent-priority-10", .error, section: "2.3.4",
            advice: "Send notifications that only have content-available with apns-priority 5.", shown
        ) { "\($0) silent notifications had priority 10, which is the default." }
    }

    private static let missingPushType: Rule = { requests in
        finding(
            "push-type-missing", .warning, section: "2.3.4",
            advice: "Send apns-push-type: devices with current systems need it (docs/current-apns.md).",
            // Apple names no push type for passes of Wallet.
            requests.filter { $0.isHTTP2 && $0.headers["apns-push-type"] == nil && !$0.isForPass }
        ) { "\($0) requests had no apns-push-type." }
    }

    /// Keys of the `aps` dictionary (Guide, Table 9-1).
    private static let apsKeys: Set<String> = [
        "alert", "badge", "sound", "content-available", "mutable-content", "category", "thread-id",
    ]
    /// Keys of the alert dictionary (Guide, Table 9-2). They have no meaning in other places.
    private static let alertKeys: Set<String> = [
        "title", "subtitle", "body", "title-loc-key", "title-loc-args", "action-loc-key", "loc-key", "loc-args",
        "launch-image",
    ]

    private static let misplacedKeys: Rule = { requests in
        var keys: Set<String> = []
        let shown = requests.filter { request in
            guard case .object(let payload)? = request.facts.payload else { return false }
            var found = Set(payload.keys).intersection(apsKeys).map { "\($0) outside aps" }
            if case .object(let aps)? = payload["aps"] {
                found += Set(aps.keys).intersection(alertKeys).map { "\($0) in aps and not in alert" }
            }
            keys.formUnion(found)
            return !found.isEmpty
        }
        return finding(
            "payload-keys-misplaced", .error, section: "2.4",
            advice: "Put Apple's keys into aps, the alert's texts into its alert, and your own keys beside aps.", shown
        ) { "\($0) payloads have keys in the wrong place: \(keys.sorted().joined(separator: ", "))." }
    }

    private static let describedTokens: Rule = { requests in
        finding(
            "device-token-described", .error, section: "2.3.4",
            advice:
                "Write each byte of the device token as two hexadecimal digits. What an app prints of its data is no device "
                + "token: in Swift, deviceToken.map { String(format: \"%02x\", $0) }.joined().",
            requests.filter { $0.facts.token.map(DeviceToken.isDescription) ?? false }
        ) { "\($0) device tokens were the description of their data." }
    }

    private static let upperCase: Rule = { requests in
        let shown = requests.filter { request in
            guard let path = request.headers[":path"] else { return false }
            let token = path.utf8.drop { $0 != UInt8(ascii: "3") }.dropFirst("3/device/".utf8.count)
            let isUpper = token.contains { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) }
            return isUpper && token.allSatisfy { Hexadecimal.value(of: $0) != nil }
        }
        return finding(
            "upper-case-token", .warning, section: "2.3.4",
            advice: "Write device tokens in lower-case hexadecimal digits, so that each has one form in your records.",
            shown
        ) { "\($0) device tokens were written in upper-case digits." }
    }

    /// Pushes and broadcasts for Live Activities that every device ignores. The service accepts them with 200.
    private static let activityFaults: Rule = { requests in
        var causes: Set<String> = []
        let shown = requests.filter { request in
            guard request.facts.status == 200,
                request.facts.pushType?.lowercased() == PushType.liveActivity.rawValue,
                let payload = request.facts.payload,
                let fault = ActivityFault(in: payload.members["aps"]?.members ?? [:])
            else { return false }
            causes.insert(fault.description)
            return true
        }
        return finding(
            "live-activity-ignored", .error, section: "2.4",
            advice:
                "Send event and timestamp with each push for a Live Activity, content-state to start and to update one, "
                + "and to start one also attributes-type, attributes and an alert with a text (docs/channels.md).",
            shown
        ) { "\($0) pushes for Live Activities do nothing on any device: \(causes.sorted().joined(separator: " "))" }
    }

    /// Pushes and broadcasts that came the wrong way. The service accepts them, because their token is for the topic.
    private static let activityTokens: Rule = { requests in
        let shown = requests.filter { request in
            guard request.facts.status == 200,
                let event = request.facts.payload?.members["aps"]?.members["event"]?.string
            else { return false }
            if request.facts.channel != nil { return event == "start" }
            return switch request.facts.activityToken {
            case .start: event == "update" || event == "end"
            case .update: event == "start"
            case nil: false
            }
        }
        return finding(
            "live-activity-token", .error, section: "2.3.4",
            advice:
                "Start a Live Activity with the token of the app's service liveactivity. Update and end it with the "
                + "token that the app gets for it, or by its channel (docs/channels.md).", shown
        ) {
            "\($0) pushes used the token of another purpose: an update or an end the token that starts them, or "
                + "a start a Live Activity's own token or a channel."
        }
    }
}
