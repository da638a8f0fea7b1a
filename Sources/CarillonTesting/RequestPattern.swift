public import APNSProvider

/// Which requests are meant: those that have every value that is given here.
public struct RequestPattern: Sendable, Hashable, Encodable {
    /// What became of a notification.
    public enum Outcome: String, Sendable, Hashable, Codable {
        case pending, delivered, stored, replaced, expired, dropped, rejected, lost
    }

    var team: String?
    public var topic: String?
    /// The device token, hexadecimal in either case.
    public var token: String?
    /// The device's identifier.
    public var device: String?
    /// `alert`, `background`, …
    public var pushType: String?
    public var apnsID: String?
    public var collapseID: String?
    /// The status of the answer.
    public var status: Int?
    /// The reason of the answer.
    public var reason: String?
    /// What it has to contain: dictionaries match by key, everything else as a whole.
    public var payload: JSONValue?
    public var outcome: Outcome?
    /// A request's number: only later ones.
    public var after: Int?

    public init(
        topic: String? = nil,
        token: String? = nil,
        device: String? = nil,
        pushType: String? = nil,
        apnsID: String? = nil,
        collapseID: String? = nil,
        status: Int? = nil,
        reason: String? = nil,
        payload: JSONValue? = nil,
        outcome: Outcome? = nil,
        after: Int? = nil,
    ) {
        self.topic = topic
        self.token = token
        self.device = device
        self.pushType = pushType
        self.apnsID = apnsID
        self.collapseID = collapseID
        self.status = status
        self.reason = reason
        self.payload = payload
        self.outcome = outcome
        self.after = after
    }
}
