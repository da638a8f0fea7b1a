package import Notifications

/// Makes what a provider names and the service does not know, for tests (`carillon serve --accept any`). It exists in
/// the development environment only.
package protocol FirstSight: AnyObject, Sendable {
    /// The keys that the service does not know, and whose provider tokens it accepts.
    var keys: UnknownKeys { get }

    /// Makes the app that a topic names, and its team if it is not known. Returns when the accounts have both. If
    /// another team has the app and it is not free, nothing changes.
    func makeApp(of topic: String, team: TeamID) async

    /// Whether another team may get an app: the first start has made it and nobody uses it, or it is gone, because another
    /// team has just got its bundle ID. ``makeApp(of:team:)`` gives it to the team, unless a device has it.
    func isFree(_ app: AppID) -> Bool

    /// The contents of a device token that the service did not give out. A token that is seen for the first time becomes
    /// a virtual device.
    /// - Parameters:
    ///   - token: 8 to 200 bytes (``NamedTokens/byteCounts``).
    ///   - app: the app that the request addresses.
    ///   - service: the service of the app that the token is for.
    func contents(of token: [UInt8], app: AppID, service: TopicKind) -> DeviceTokenContents?

    /// Whether an app was made at first sight.
    func hasMade(_ app: AppID) -> Bool

    /// The device of a device token that was seen before; nil if it was not.
    func device(of token: [UInt8]) -> DeviceID?
}
