public import APNSProvider

/// A request of a provider, as the journal keeps it.
public struct TestRequest: Sendable, Decodable {
    /// The request's number in the journal, from 1.
    public let number: Int
    /// When the service decided about the request, in milliseconds since 1970.
    public let time: Int64
    /// The name of the request's connection, for example `c2`.
    public let connection: String
    /// The header fields. Names are in lower case. `authorization` is without its signature.
    public let headers: [String: String]?
    /// The device token in hexadecimal digits.
    public let token: String?
    public let device: String?
    public let topic: String?
    /// The identifier of the broadcast channel that the request names, or that it has created.
    public let channel: String?
    /// The purpose of the device token, if it is one of Live Activities.
    public let activityToken: ActivityToken?
    public let payload: JSONValue?
    /// The name of the subscription, if it is a message of Web Push.
    public let subscription: String?
    /// The size of a message of Web Push, in bytes.
    public let bytes: Int?
    /// What a message of Web Push says; nil if it cannot be decrypted, or is not UTF-8.
    public let text: String?
    /// The HTTP status of the answer; nil if there is none yet.
    public let status: Int?
    /// The reason in the answer; nil if there is none.
    public let reason: String?
    public let apnsID: String?
    public let outcome: RequestPattern.Outcome?
    /// The server name in the connection's TLS handshake.
    public let serverName: String?
    /// The client's address and port, if this is not a request, but a connection whose TLS handshake failed.
    public let client: String?
    /// The alert with which the client ended the handshake, for example `unknown_ca`.
    public let alert: String?
    /// The name of the rehearsal's rule that fired for the request; nil if none did.
    public let rule: String?

    /// The device tokens of Live Activities.
    public enum ActivityToken: String, Sendable, Decodable {
        /// The one of the app's service `liveactivity`, which starts Live Activities.
        case start
        /// A Live Activity's own, which updates and ends it.
        case update
    }
}
