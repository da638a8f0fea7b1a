package import Notifications

/// Selects requests by their values. The journal, waits and rehearsals use the same form of it.
///
/// A request matches if it has every value that the match names. An empty match matches every request.
package struct RequestMatch: Sendable {
    package var team: TeamID?
    package var topic: String?
    /// The device token, in lower-case hexadecimal digits.
    package var token: String?
    package var device: DeviceID?
    package var environment: Environment?
    package var interface: ProviderInterface?
    /// The name in the connection's TLS handshake, in lower case.
    package var serverName: String?
    package var pushType: String?
    package var apnsID: NotificationID?
    package var collapseID: String?
    package var channel: String?
    /// The name of a Web Push subscription.
    package var subscription: String?
    /// What a message of Web Push says.
    package var text: String?
    package var status: Int?
    package var reason: String?
    /// Dictionaries match by key, recursively; see ``Notifications/JSONValue/matches(_:)``.
    package var payload: JSONValue?
    package var outcome: RequestOutcome?
    /// Selects only requests with a greater number.
    package var after: UInt64?

    /// Matches every request.
    package init() {}

    /// Whether it matches every request.
    var isEmpty: Bool {
        team == nil && topic == nil && token == nil && device == nil && environment == nil && interface == nil
            && serverName == nil && pushType == nil && apnsID == nil && collapseID == nil && channel == nil
            && subscription == nil && text == nil && status == nil && reason == nil
            && payload == nil && outcome == nil && after == nil
    }

    /// Whether a request matches.
    package func matches(_ facts: RequestFacts) -> Bool {
        // Compare the payload last: it has to be parsed for each request that gets that far.
        if let team, facts.team != team { return false }
        if let topic, !facts.topic.isSame(as: topic) { return false }
        if let token, facts.token != token { return false }
        if let device, facts.device != device { return false }
        if let environment, facts.environment != environment { return false }
        if let interface, facts.interface != interface { return false }
        if let serverName, !(facts.serverName?.lowercased()).isSame(as: serverName) { return false }
        if let pushType, !facts.pushType.isSame(as: pushType) { return false }
        if let apnsID, facts.apnsID != apnsID { return false }
        if let collapseID, !facts.collapseID.isSame(as: collapseID) { return false }
        if let channel, !facts.channel.isSame(as: channel) { return false }
        if let subscription, !facts.subscription.isSame(as: subscription) { return false }
        if let text, !facts.text.isSame(as: text) { return false }
        if let status, facts.status != status { return false }
        if let reason, facts.reason != reason { return false }
        if let outcome, facts.outcome != outcome { return false }
        if let after, facts.number <= after { return false }
        return matchesPayload(of: facts)
    }

    /// The keys in which the request differs from the match; empty if it matches.
    package func differences(from facts: RequestFacts) -> [String] {
        var keys: [String] = []
        func compare(_ member: Member, _ isDifferent: Bool) {
            if isDifferent { keys.append(member.rawValue) }
        }
        compare(.team, team != nil && facts.team != team)
        compare(.topic, topic.map { !facts.topic.isSame(as: $0) } ?? false)
        compare(.token, token != nil && facts.token != token)
        compare(.device, device != nil && facts.device != device)
        compare(.environment, environment != nil && facts.environment != environment)
        compare(.protocol, interface != nil && facts.interface != interface)
        compare(.serverName, serverName.map { !(facts.serverName?.lowercased()).isSame(as: $0) } ?? false)
        compare(.pushType, pushType.map { !facts.pushType.isSame(as: $0) } ?? false)
        compare(.apnsID, apnsID != nil && facts.apnsID != apnsID)
        compare(.collapseID, collapseID.map { !facts.collapseID.isSame(as: $0) } ?? false)
        compare(.channel, channel.map { !facts.channel.isSame(as: $0) } ?? false)
        compare(.subscription, subscription.map { !facts.subscription.isSame(as: $0) } ?? false)
        compare(.text, text.map { !facts.text.isSame(as: $0) } ?? false)
        compare(.status, status != nil && facts.status != status)
        compare(.reason, reason != nil && facts.reason != reason)
        compare(.payload, !matchesPayload(of: facts))
        compare(.outcome, outcome != nil && facts.outcome != outcome)
        compare(.after, after.map { facts.number <= $0 } ?? false)
        return keys
    }

    /// Whether a request has the match's payload. It is parsed for that, unless it was before.
    package func matchesPayload(of facts: RequestFacts) -> Bool {
        guard let payload else { return true }
        return facts.payload.map(payload.matches) ?? false
    }

    /// The members of the document.
    package enum Member: String, CaseIterable {
        case team
        case topic
        case token
        case device
        case environment
        case `protocol`
        case serverName
        case pushType
        case apnsID
        case collapseID
        case channel
        case subscription
        case text
        case status
        case reason
        case payload
        case outcome
        case after
    }
}
