public import Foundation
import Notifications

/// The service's refusal of a notification: a status, a reason and details (Guide, Table 8-6).
public struct PushRejection: Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// The reason why the service refused the notification.
    public let reason: Reason
    /// The notification's identifier, from the service's answer.
    public let apnsID: String?
    /// With status 410, the last time at which the service knew the device token to be invalid. If the app
    /// registered the device token after this time, it is valid again (Table 8-5).
    public let timestamp: Date?
    /// A description of the mistake in this request, if the service sends one. Carillon does so in the development
    /// environment.
    public let detail: String?
    /// By how many seconds this machine's clock is ahead of the service's; nil if the answer does not say it.
    package let clockDifference: Int64?

    /// The recommended reaction of the provider.
    public var advice: Advice { reason.advice ?? Advice(status: status) }

    /// A sentence for a person with the status, the reason and its meaning.
    public var description: String {
        let meaning = detail ?? reason.meaning
        let text = "The service refused: \(status) \(reason)\(meaning.map { ": " + $0 } ?? ".")"
        return clockAdvice.map { text + " " + $0 } ?? text
    }

    /// Whether the rejection is about the notification, its sender or the service.
    package var subject: RejectionSubject { RejectionSubject(reason: reason.rawValue, status: status) }

    init(_ answer: PushAnswer) {
        status = answer.status
        reason = Reason(rawValue: answer.reason ?? "")
        apnsID = answer.apnsID
        timestamp = answer.timestamp.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        detail = answer.detail
        clockDifference = answer.clockDifference
    }
}

extension PushRejection {
    /// The reason of a rejection. The reasons that this library knows are static members. Other reasons keep the
    /// service's text. Two spellings of the same reason are equal.
    public struct Reason: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The reason's text in the service's answer, such as `BadDeviceToken`.
        public let rawValue: String

        /// Creates a reason from its text in the service's answer.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The reason's text in the service's answer.
        public var description: String { rawValue }

        /// A sentence that explains the reason; nil if this library does not know the reason.
        public var meaning: String? { Rejection.Reason(rawValue: canonical)?.row.meaning }
        /// The recommended reaction of the provider; nil if this library does not know the reason.
        public var advice: Advice? { known?.row.advice }

        public static func == (one: Reason, other: Reason) -> Bool { one.canonical == other.canonical }
        public func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

        /// The reason in the spelling of Apple's documentation. The service has been seen to spell
        /// ``badEnvironmentKeyIDInToken`` differently.
        private var canonical: String {
            known == .badEnvironmentKeyInToken ? Rejection.Reason.badEnvironmentKeyIDInToken.rawValue : rawValue
        }

        private var known: Rejection.Reason? { Rejection.Reason(rawValue: rawValue) }
        private init(_ reason: Rejection.Reason) { rawValue = reason.rawValue }

        /// The collapse identifier is longer than 64 bytes.
        public static let badCollapseID = Reason(.badCollapseID)
        /// The device token does not belong to this environment.
        public static let badDeviceToken = Reason(.badDeviceToken)
        /// The `apns-expiration` value is not a date in whole seconds.
        public static let badExpirationDate = Reason(.badExpirationDate)
        /// The `apns-id` value is not a canonical UUID.
        public static let badMessageID = Reason(.badMessageID)
        /// The `apns-priority` value is not 10, 5 or 1, or it is not allowed for this payload.
        public static let badPriority = Reason(.badPriority)
        /// The `apns-topic` value is not a topic.
        public static let badTopic = Reason(.badTopic)
        /// The device token belongs to a different app or service than the topic.
        public static let deviceTokenNotForTopic = Reason(.deviceTokenNotForTopic)
        /// The request has the same header more than once.
        public static let duplicateHeaders = Reason(.duplicateHeaders)
        /// The connection was idle for too long.
        public static let idleTimeout = Reason(.idleTimeout)
        /// The `apns-push-type` value is not a push type.
        public static let invalidPushType = Reason(.invalidPushType)
        /// The path contains no device token.
        public static let missingDeviceToken = Reason(.missingDeviceToken)
        /// The `apns-topic` header is missing, and it is required.
        public static let missingTopic = Reason(.missingTopic)
        /// The body is not a JSON dictionary.
        public static let payloadEmpty = Reason(.payloadEmpty)
        /// The credentials or the push type are not allowed for this topic.
        public static let topicDisallowed = Reason(.topicDisallowed)
        /// The certificate is bad.
        public static let badCertificate = Reason(.badCertificate)
        /// The certificate is for the other environment.
        public static let badCertificateEnvironment = Reason(.badCertificateEnvironment)
        /// The provider token was issued more than an hour ago. The client has already renewed it without success,
        /// so check the machine's clock.
        public static let expiredProviderToken = Reason(.expiredProviderToken)
        /// The credentials do not allow this action.
        public static let forbidden = Reason(.forbidden)
        /// The provider token is not valid or could not be verified, for example because its key was revoked or
        /// belongs to another team.
        public static let invalidProviderToken = Reason(.invalidProviderToken)
        /// The connection has no provider certificate, and the request has no provider token.
        public static let missingProviderToken = Reason(.missingProviderToken)
        /// The key is not related to the key of the first notification on this connection. The client opens another
        /// connection and sends the notification again.
        public static let unrelatedKeyIDInToken = Reason(.unrelatedKeyIDInToken)
        /// The key is for the other environment. The service spells this reason `BadEnvironmentKeyIdInToken` or
        /// `BadEnvironmentKeyInToken`.
        public static let badEnvironmentKeyIDInToken = Reason(.badEnvironmentKeyIDInToken)
        /// The path is not one of the API, such as `/3/device/` and a device token.
        public static let badPath = Reason(.badPath)
        /// The path does not take this method.
        public static let methodNotAllowed = Reason(.methodNotAllowed)
        /// The device token is no longer active for the topic.
        public static let unregistered = Reason(.unregistered)
        /// The device token has expired.
        public static let expiredToken = Reason(.expiredToken)
        /// The payload is larger than its push type allows.
        public static let payloadTooLarge = Reason(.payloadTooLarge)
        /// The provider token changes too often on this connection.
        public static let tooManyProviderTokenUpdates = Reason(.tooManyProviderTokenUpdates)
        /// Too many requests were made to the same device token or channel.
        public static let tooManyRequests = Reason(.tooManyRequests)
        /// Broadcast channels are not enabled for the app.
        public static let featureNotEnabled = Reason(.featureNotEnabled)
        /// The request about channels has no `apns-channel-id`.
        public static let missingChannelID = Reason(.missingChannelID)
        /// The `apns-channel-id` value is not base64, or is too long.
        public static let badChannelID = Reason(.badChannelID)
        /// The app has no channel with this identifier in this environment.
        public static let channelNotRegistered = Reason(.channelNotRegistered)
        /// The app has as many channels as it may have.
        public static let cannotCreateChannelConfig = Reason(.cannotCreateChannelConfig)
        /// The request about channels has no push type.
        public static let missingPushType = Reason(.missingPushType)
        /// The body of the request to create a channel is not a JSON dictionary.
        public static let badRequestPayload = Reason(.badRequestPayload)
        /// The body of the request to create a channel has an unknown key, or lacks a value.
        public static let badRequestParams = Reason(.badRequestParams)
        /// The bundle ID in the path is not one that the credentials are for.
        public static let topicMismatch = Reason(.topicMismatch)
        /// The service failed.
        public static let internalServerError = Reason(.internalServerError)
        /// The service cannot accept the notification now.
        public static let serviceUnavailable = Reason(.serviceUnavailable)
        /// The service is shutting down.
        public static let shutdown = Reason(.shutdown)
    }

    /// The recommended reaction of a provider to a rejection.
    public typealias Advice = RejectionAdvice
}

extension RejectionAdvice {
    /// Chooses the advice for a reason that this library does not know, from the status (Table 8-4).
    init(status: Int) {
        self =
            switch status {
            case 403: .fixCredentials
            case 410: .forgetDeviceToken
            case 429, 500...599: .retryLater
            default: .fixRequest
            }
    }
}
