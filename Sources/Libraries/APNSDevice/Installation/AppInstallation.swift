public import Foundation
import Notifications

/// What an app tells the provider server about itself: one app on one device.
public struct AppInstallation: Sendable, Hashable {
    /// The device token as hexadecimal digits.
    public var deviceToken: String
    /// The environment of the device token.
    public var environment: DeviceIdentity.Environment
    /// The user's preferred languages as BCP 47 tags, the preferred one first. At most ten are sent.
    public var languages: [String]
    /// The name of the time zone, such as `Europe/Stockholm`.
    public var timeZone: String?
    /// The user. Leave it out if your backend says who the user is. With a token of your identity provider it has to be
    /// the token's user.
    public var user: String?
    /// The topics and properties that audiences select by. Your backend sets tags of its own, which the app does not
    /// change.
    public var tags: Set<String>
    /// The version of the app.
    public var appVersion: String?
    /// Texts that the templates of messages may name.
    public var values: [String: String]
    /// The device tokens of the app's services as hexadecimal digits. A message to a service goes to its token. That of
    /// ``PushService/liveActivity`` starts Live Activities: the token of `pushToStartTokenUpdates`.
    /// Those of services that have none (``PushService/withTokens``) are not sent.
    public var tokens: [Service: String]
    /// The device tokens of the Live Activities that run, by a name that your backend knows, such as `order-17`.
    public var activities: [String: String]

    /// A service of an app. Those of ``PushService/withTokens`` have device tokens.
    public typealias Service = PushService

    /// The largest number of languages that the provider server accepts.
    private static let maximumLanguages = 10

    /// Creates a description. By default, the languages and the time zone are the device's.
    public init(
        deviceToken: String,
        environment: DeviceIdentity.Environment,
        languages: [String] = Locale.preferredLanguages,
        timeZone: String? = TimeZone.current.identifier,
        user: String? = nil,
        tags: Set<String> = [],
        appVersion: String? = nil,
        values: [String: String] = [:],
        tokens: [Service: String] = [:],
        activities: [String: String] = [:],
    ) {
        self.deviceToken = deviceToken
        self.environment = environment
        self.languages = languages
        self.timeZone = timeZone
        self.user = user
        self.tags = tags
        self.appVersion = appVersion
        self.values = values
        self.tokens = tokens
        self.activities = activities
    }

    /// The body of the request. The same installation always has the same body.
    func body(bundleID: String?) throws(DeviceError) -> Data {
        let body = Body(
            bundleID: bundleID, deviceToken: deviceToken, environment: environment.rawValue,
            languages: Array(languages.prefix(Self.maximumLanguages)), timeZone: timeZone, user: user,
            appTags: tags.sortedExactly(), appVersion: appVersion, appValues: values,
            tokens: tokensOfServices.isEmpty ? nil : tokensOfServices,
            activities: activities.isEmpty ? nil : activities)
        do {
            return Data(try JSONValue(encoding: body).text.utf8)
        } catch {
            throw DeviceError(.storage, "The installation cannot be written as JSON: \(error)")
        }
    }

    private var tokensOfServices: [String: String] {
        Dictionary(
            PushService.withTokens.compactMap { service in tokens[service].map { (service.rawValue, $0) } },
            uniquingKeysWith: { $1 })
    }

    private struct Body: Encodable {
        let bundleID: String?
        let deviceToken: String
        let environment: String
        let languages: [String]
        let timeZone: String?
        let user: String?
        let appTags: [String]
        let appVersion: String?
        let appValues: [String: String]
        let tokens: [String: String]?
        let activities: [String: String]?
    }
}
