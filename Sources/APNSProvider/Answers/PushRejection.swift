public import Foundation
import Notifications

/// A refusal: the service's reason, and what goes with it (Guide, Table 8-6).
public struct PushRejection: Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// Why.
    public let reason: Reason
    /// The notification's identifier, as the service says it.
    public let apnsID: String?
    /// With status 410: when the device token was last known to be no longer valid. A device token that its app
    /// registered later is good again (Table 8-5).
    public let timestamp: Date?
    /// What was wrong with this request, where the service says it. Carillon does, in development.
    public let detail: String?

    /// What to do about it.
    public var advice: Advice { reason.advice ?? Advice(status: status) }

    /// A sentence for a person.
    public var description: String {
        let meaning = detail ?? reason.meaning
        return "The service refused: \(status) \(reason)\(meaning.map { ": " + $0 } ?? ".")"
    }

    init(_ answer: PushAnswer) {
        status = answer.status
        reason = Reason(rawValue: answer.reason ?? "")
        apnsID = answer.apnsID
        timestamp = answer.timestamp.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        detail = answer.detail
    }
}

extension PushRejection {
    /// Why the service refused. Those that this library knows are static members; others are kept as they came. Two
    /// spellings of the same reason are equal.
    public struct Reason: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The reason as it stands in the answer.
        public let rawValue: String

        /// Takes a reason as it stands in the answer.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The reason as it stands in the answer.
        public var description: String { rawValue }

        /// What the reason means, a sentence; nil for one that this library does not know.
        public var meaning: String? { Rejection.Reason(rawValue: canonical)?.row.meaning }
        /// What to do; nil for a reason that this library does not know.
        public var advice: Advice? { known.map { Advice($0.row.advice) } }

        public static func == (one: Reason, other: Reason) -> Bool { one.canonical == other.canonical }
        public func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

        /// The reason in the spelling of Apple's page. The service has been seen to send another one for
        /// ``badEnvironmentKeyIDInToken``.
        private var canonical: String {
            known == .badEnvironmentKeyInToken ? Rejection.Reason.badEnvironmentKeyIDInToken.rawValue : rawValue
        }

        private var known: Rejection.Reason? { Rejection.Reason(rawValue: rawValue) }
        private init(_ reason: Rejection.Reason) { rawValue = reason.rawValue }

        /// The collapse identifier is longer than 64 bytes.
        public static let badCollapseID = Reason(.badCollapseID)
        /// The device token is not one of this environment.
        public static let badDeviceToken = Reason(.badDeviceToken)
        /// The expiration is no date.
        public static let badExpirationDate = Reason(.badExpirationDate)
        /// The identifier is no canonical UUID.
        public static let badMessageID = Reason(.badMessageID)
        /// The priority is none, or does not suit the payload.
        public static let badPriority = Reason(.badPriority)
        /// The topic is none.
        public static let badTopic = Reason(.badTopic)
        /// The device token belongs to another app than the topic.
        public static let deviceTokenNotForTopic = Reason(.deviceTokenNotForTopic)
        /// A header stands in the request more than once.
        public static let duplicateHeaders = Reason(.duplicateHeaders)
        /// The connection was idle for too long.
        public static let idleTimeout = Reason(.idleTimeout)
        /// The push type is none.
        public static let invalidPushType = Reason(.invalidPushType)
        /// The request names no device token.
        public static let missingDeviceToken = Reason(.missingDeviceToken)
        /// The request names no topic.
        public static let missingTopic = Reason(.missingTopic)
        /// There is no payload.
        public static let payloadEmpty = Reason(.payloadEmpty)
        /// These credentials or this push type may not send to the topic.
        public static let topicDisallowed = Reason(.topicDisallowed)
        /// The certificate is bad.
        public static let badCertificate = Reason(.badCertificate)
        /// The certificate is for the other environment.
        public static let badCertificateEnvironment = Reason(.badCertificateEnvironment)
        /// The provider token was issued more than an hour ago. The client has renewed it in vain: look at the clock.
        public static let expiredProviderToken = Reason(.expiredProviderToken)
        /// The credentials do not allow this.
        public static let forbidden = Reason(.forbidden)
        /// The provider token could not be verified: the key is revoked, or of another team.
        public static let invalidProviderToken = Reason(.invalidProviderToken)
        /// There is neither a certificate nor a provider token.
        public static let missingProviderToken = Reason(.missingProviderToken)
        /// The key is not related to the key of the first notification on this connection. On another connection it can be
        /// used: the client opens one and sends the notification again.
        public static let unrelatedKeyIDInToken = Reason(.unrelatedKeyIDInToken)
        /// The key is for the other environment. The reason came as `BadEnvironmentKeyIdInToken` or as
        /// `BadEnvironmentKeyInToken`.
        public static let badEnvironmentKeyIDInToken = Reason(.badEnvironmentKeyIDInToken)
        /// The path is none of the service's.
        public static let badPath = Reason(.badPath)
        /// The method is not POST.
        public static let methodNotAllowed = Reason(.methodNotAllowed)
        /// The device token is no longer active for the topic.
        public static let unregistered = Reason(.unregistered)
        /// The device token has expired.
        public static let expiredToken = Reason(.expiredToken)
        /// The payload is larger than its kind allows.
        public static let payloadTooLarge = Reason(.payloadTooLarge)
        /// The provider token changes too often.
        public static let tooManyProviderTokenUpdates = Reason(.tooManyProviderTokenUpdates)
        /// Too many requests were made to the same device token.
        public static let tooManyRequests = Reason(.tooManyRequests)
        /// The service failed.
        public static let internalServerError = Reason(.internalServerError)
        /// The service cannot take the notification now.
        public static let serviceUnavailable = Reason(.serviceUnavailable)
        /// The service is shutting down.
        public static let shutdown = Reason(.shutdown)
    }

    /// What a provider should do about a rejection. What can be done by a client is done before you see it: sending
    /// again within the deadline, renewing the provider token, opening another connection.
    public enum Advice: Sendable, Hashable, CaseIterable {
        /// The request itself is wrong: sending it again gives the same answer.
        case mendRequest
        /// Stop sending to this device token until the app registers again.
        case forgetDeviceToken
        /// The provider token is too old.
        case renewProviderToken
        /// The key, certificate or account needs attention.
        case mendCredentials
        /// Send again, later.
        case retryLater
        /// The connection ends: send again on another.
        case reconnect

        init(_ advice: RejectionAdvice) {
            self =
                switch advice {
                case .mendRequest: .mendRequest
                case .forgetDeviceToken: .forgetDeviceToken
                case .renewProviderToken: .renewProviderToken
                case .mendCredentials: .mendCredentials
                case .retryLater: .retryLater
                case .reconnect: .reconnect
                }
        }

        /// For reasons that this library does not know, by what their status means (Table 8-4).
        init(status: Int) {
            self =
                switch status {
                case 403: .mendCredentials
                case 410: .forgetDeviceToken
                case 429, 500...599: .retryLater
                default: .mendRequest
                }
        }
    }
}
