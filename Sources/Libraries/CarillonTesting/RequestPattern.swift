public import APNSProvider
import Foundation
import Notifications

/// Matches requests by their values. A request matches if it has every value given here. Properties that are nil
/// match every request.
public struct RequestPattern: Sendable, Hashable, Encodable {
    /// The outcome of a notification.
    public enum Outcome: String, Sendable, Hashable, Codable {
        case pending, delivered, stored, replaced, expired, dropped, rejected, lost
        /// There was no request, because the TLS handshake of the connection failed.
        case failed
    }

    var team: String?
    public var topic: String?
    /// The device token in hexadecimal digits, in upper or lower case.
    public var token: String?
    /// The device's identifier: 16 hexadecimal digits.
    public var device: String?
    /// The value of `apns-push-type`: `alert`, `background` and so on.
    public var pushType: String?
    public var apnsID: String?
    public var collapseID: String?
    /// The server name in the connection's TLS handshake.
    public var serverName: String?
    /// The identifier of the broadcast channel that the request names, or that it has created.
    public var channel: String?
    /// The name of a subscription to Web Push.
    public var subscription: String?
    /// What a message of Web Push says.
    public var text: String?
    /// The HTTP status of the answer.
    public var status: Int?
    /// The reason in the answer, for example `BadDeviceToken`.
    public var reason: String?
    /// What the payload has to contain. Dictionaries are compared by key, and the payload's may have more keys. Other
    /// values have to be equal.
    public var payload: JSONValue?
    public var outcome: Outcome?
    /// Matches only requests whose number is greater than this one.
    public var after: Int?

    public init(
        topic: String? = nil,
        token: String? = nil,
        device: String? = nil,
        pushType: String? = nil,
        apnsID: String? = nil,
        collapseID: String? = nil,
        channel: String? = nil,
        status: Int? = nil,
        reason: String? = nil,
        payload: JSONValue? = nil,
        outcome: Outcome? = nil,
        after: Int? = nil,
        serverName: String? = nil,
        subscription: String? = nil,
        text: String? = nil,
    ) {
        self.topic = topic
        self.token = token
        self.device = device
        self.pushType = pushType
        self.apnsID = apnsID
        self.collapseID = collapseID
        self.channel = channel
        self.status = status
        self.reason = reason
        self.payload = payload
        self.outcome = outcome
        self.after = after
        self.serverName = serverName
        self.subscription = subscription
        self.text = text
    }
}

extension RequestPattern {
    /// The keys and values of the pattern.
    var members: [String: JSONValue] {
        let texts = [
            "team": team, "topic": topic, "token": token, "device": device, "pushType": pushType, "apnsID": apnsID,
            "collapseID": collapseID, "serverName": serverName, "channel": channel, "reason": reason,
            "subscription": subscription, "text": text,
            "outcome": outcome?.rawValue,
        ]
        var members = texts.compactMapValues { $0.map(JSONValue.string) }
        members["status"] = status.map { .integer(Int64(clamping: $0)) }
        members["after"] = after.map { .integer(Int64(clamping: $0)) }
        members["payload"] = payload
        return members
    }

    public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

    /// The pattern as parameters of a URL.
    var query: String {
        func shown(_ value: JSONValue) -> String {
            value.string ?? value.text
        }
        return JSONMembers(members).map { "\($0.key)=\(shown($0.value).percentEncoded)" }.joined(separator: "&")
    }
}
