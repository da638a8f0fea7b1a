extension Rejection {
    /// The reasons of the Guide's Table 8-6, and those that came later, those of broadcast channels last.
    package enum Reason: String, Sendable, Hashable, CaseIterable {
        case badCollapseID = "BadCollapseId"
        case badDeviceToken = "BadDeviceToken"
        case badExpirationDate = "BadExpirationDate"
        case badMessageID = "BadMessageId"
        case badPriority = "BadPriority"
        case badTopic = "BadTopic"
        case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
        case duplicateHeaders = "DuplicateHeaders"
        case idleTimeout = "IdleTimeout"
        case invalidPushType = "InvalidPushType"
        case missingDeviceToken = "MissingDeviceToken"
        case missingTopic = "MissingTopic"
        case payloadEmpty = "PayloadEmpty"
        case topicDisallowed = "TopicDisallowed"
        case badCertificate = "BadCertificate"
        case badCertificateEnvironment = "BadCertificateEnvironment"
        case expiredProviderToken = "ExpiredProviderToken"
        case forbidden = "Forbidden"
        case invalidProviderToken = "InvalidProviderToken"
        case missingProviderToken = "MissingProviderToken"
        case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
        case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
        /// Another spelling of the same: see ``EnvironmentKeyReason``.
        case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
        case badPath = "BadPath"
        case methodNotAllowed = "MethodNotAllowed"
        case unregistered = "Unregistered"
        case expiredToken = "ExpiredToken"
        case payloadTooLarge = "PayloadTooLarge"
        case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
        case tooManyRequests = "TooManyRequests"
        case internalServerError = "InternalServerError"
        case serviceUnavailable = "ServiceUnavailable"
        case shutdown = "Shutdown"
        case featureNotEnabled = "FeatureNotEnabled"
        case missingChannelID = "MissingChannelId"
        case badChannelID = "BadChannelId"
        case channelNotRegistered = "ChannelNotRegistered"
        case cannotCreateChannelConfig = "CannotCreateChannelConfig"
        case missingPushType = "MissingPushType"
        case badRequestPayload = "BadRequestPayload"
        case badRequestParams = "BadRequestParams"
        case topicMismatch = "TopicMismatch"
    }
}

/// The recommended reaction of a provider to a rejection. `APNSProvider` has already done what it can when it reports the
/// rejection: it sends again within the deadline, renews the provider token and opens another connection.
public enum RejectionAdvice: Sendable, Hashable, CaseIterable {
    /// Correct the request. Sending it again unchanged gives the same answer.
    case fixRequest
    /// Stop sending to this device token until the app registers again.
    case forgetDeviceToken
    /// Make a new provider token, because this one is too old.
    case renewProviderToken
    /// Check the key, the certificate or the account.
    case fixCredentials
    /// Send the notification again after a delay that grows.
    case retryLater
    /// Send the notification again on another connection, because this one ends.
    case reconnect

    /// The advice for people.
    package var text: String {
        switch self {
        case .fixRequest: "fix the request"
        case .forgetDeviceToken: "forget the device token"
        case .renewProviderToken: "renew the provider token and send again"
        case .fixCredentials: "fix the credentials"
        case .retryLater: "send again after a growing delay"
        case .reconnect: "open another connection"
        }
    }
}

/// What a rejection is about. Whoever sends to many recipients counts only the first kind as a recipient's failure.
package enum RejectionSubject: Sendable, Hashable, CaseIterable {
    /// This notification or its recipient.
    case notification
    /// The sender: its key, its certificate, its account or its clock. Every notification of this sender is refused.
    case sender
    /// The service. It may accept the notification later.
    case service

    /// - Parameters:
    ///   - reason: a reason as an answer has it, also one that is not in the table.
    ///   - status: the answer's status, which decides for such a reason (Guide, Table 8-4).
    package init(reason: String?, status: Int) {
        if let known = reason.flatMap(Rejection.Reason.init(rawValue:)) {
            self = known.row.subject
        } else {
            switch status {
            case 401, 403, 407: self = .sender
            case 500...599: self = .service
            default: self = .notification
            }
        }
    }
}

extension Rejection.Reason {
    /// One row of the table of reasons. All texts about a reason come from here.
    package struct Row: Sendable {
        package let status: Int
        package let meaning: String
        /// The binary API derives its status from this, and from a 410 (`BinaryRules`).
        package let advice: RejectionAdvice
        package let subject: RejectionSubject
    }

    /// The HTTP status that goes with the reason.
    package var status: Int { row.status }

    package var row: Row {
        switch self {
        case .badCollapseID:
            Row(400, "The collapse identifier is longer than 64 bytes or not UTF-8.", .fixRequest, .notification)
        case .badDeviceToken:
            Row(400, "The device token does not belong to this environment.", .forgetDeviceToken, .notification)
        case .badExpirationDate:
            Row(400, "The apns-expiration value is not a date in whole seconds.", .fixRequest, .notification)
        case .badMessageID:
            Row(400, "The apns-id value is not a canonical UUID.", .fixRequest, .notification)
        case .badPriority:
            Row(
                400, "The apns-priority value is not 10, 5 or 1, or is not allowed for this payload.", .fixRequest,
                .notification)
        case .badTopic:
            Row(400, "The apns-topic value is not a topic.", .fixRequest, .notification)
        case .deviceTokenNotForTopic:
            Row(
                400, "The device token belongs to a different app or service than the topic.", .forgetDeviceToken,
                .notification)
        case .duplicateHeaders:
            Row(400, "The request has a header of the provider API more than once.", .fixRequest, .notification)
        case .idleTimeout:
            Row(400, "The connection or the request was idle for too long.", .reconnect, .service)
        case .invalidPushType:
            Row(400, "The apns-push-type value is not a push type.", .fixRequest, .notification)
        case .missingDeviceToken:
            Row(400, "The path contains no device token.", .fixRequest, .notification)
        case .missingTopic:
            Row(400, "The apns-topic header is missing, and it is required.", .fixRequest, .notification)
        case .payloadEmpty:
            Row(400, "The body is not a JSON dictionary.", .fixRequest, .notification)
        case .topicDisallowed:
            Row(400, "These credentials or this push type may not send to the topic.", .fixCredentials, .sender)
        case .badCertificate:
            Row(403, "The certificate is bad.", .fixCredentials, .sender)
        case .badCertificateEnvironment:
            Row(403, "The certificate is for the other environment.", .fixCredentials, .sender)
        case .expiredProviderToken:
            Row(403, "The provider token was issued more than an hour ago.", .renewProviderToken, .sender)
        case .forbidden:
            Row(403, "The credentials do not allow this action.", .fixCredentials, .sender)
        case .invalidProviderToken:
            Row(
                403, "The provider token is not valid, or its signature could not be verified.", .fixCredentials,
                .sender)
        case .missingProviderToken:
            Row(403, "There is neither a provider certificate nor a provider token.", .fixCredentials, .sender)
        case .unrelatedKeyIDInToken:
            Row(
                403, "The provider token's key is not related to the key of the connection's first notification.",
                .reconnect, .sender)
        case .badEnvironmentKeyIDInToken:
            Row(403, "The key that signed the provider token is for the other environment.", .fixCredentials, .sender)
        case .badEnvironmentKeyInToken:
            Row(403, "The same as BadEnvironmentKeyIdInToken, in another spelling.", .fixCredentials, .sender)
        case .badPath:
            Row(
                404, "The path is not one of the API, such as /3/device/ and a device token.", .fixRequest,
                .notification)
        case .methodNotAllowed:
            Row(405, "The path does not take this method.", .fixRequest, .notification)
        case .unregistered:
            Row(410, "The device token is no longer active for the topic.", .forgetDeviceToken, .notification)
        case .expiredToken:
            Row(410, "The device token has expired.", .forgetDeviceToken, .notification)
        case .payloadTooLarge:
            Row(413, "The payload is larger than its topic allows.", .fixRequest, .notification)
        case .tooManyProviderTokenUpdates:
            Row(429, "The provider token changes too often on this connection.", .retryLater, .sender)
        case .tooManyRequests:
            Row(429, "Too many requests were made to the same device token or channel.", .retryLater, .notification)
        case .internalServerError:
            Row(500, "The service failed.", .retryLater, .service)
        case .serviceUnavailable:
            Row(503, "The service cannot accept the notification now.", .retryLater, .service)
        case .shutdown:
            Row(503, "The service is shutting down.", .reconnect, .service)
        case .featureNotEnabled:
            Row(400, "Broadcast channels are not enabled for the app.", .fixCredentials, .sender)
        case .missingChannelID:
            Row(400, "The apns-channel-id header is missing.", .fixRequest, .notification)
        case .badChannelID:
            Row(400, "The apns-channel-id value is not base64, or is too long.", .fixRequest, .notification)
        case .channelNotRegistered:
            Row(400, "The app has no channel with this identifier in this environment.", .fixRequest, .notification)
        case .cannotCreateChannelConfig:
            Row(400, "The app has as many channels as it may have.", .fixRequest, .sender)
        case .missingPushType:
            Row(400, "The push type is missing and required.", .fixRequest, .notification)
        case .badRequestPayload:
            Row(
                400, "The body of the request to create a channel is not a JSON dictionary.", .fixRequest, .notification
            )
        case .badRequestParams:
            Row(
                400, "The body of the request to create a channel has an unknown key, or lacks a value.", .fixRequest,
                .notification)
        case .topicMismatch:
            Row(403, "The credentials are not for the app in the path.", .fixCredentials, .sender)
        }
    }
}

extension Rejection.Reason {
    /// What a reason says about the request's provider token.
    package enum TokenJudgement: Sendable {
        /// The token is missing or invalid.
        case refused
        /// The token's key is not related to the connection's first key. Another connection may accept it.
        case unrelated
        /// The token is valid, but changes too often on the connection.
        case changesTooOften
        /// The service may have refused the request before it looked at the token.
        case unknown
    }

    package var tokenJudgement: TokenJudgement {
        switch self {
        case .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .badEnvironmentKeyIDInToken,
            .badEnvironmentKeyInToken:
            .refused
        case .unrelatedKeyIDInToken: .unrelated
        case .tooManyProviderTokenUpdates: .changesTooOften
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed, .badCertificate, .badCertificateEnvironment, .forbidden,
            .badPath, .methodNotAllowed, .unregistered, .expiredToken, .payloadTooLarge, .tooManyRequests,
            .internalServerError, .serviceUnavailable, .shutdown, .featureNotEnabled, .missingChannelID,
            .badChannelID, .channelNotRegistered, .cannotCreateChannelConfig, .missingPushType, .badRequestPayload,
            .badRequestParams, .topicMismatch:
            .unknown
        }
    }
}

extension Rejection.Reason {
    /// Whether the reason is about the key or the certificate that the sender authenticates with.
    package var isOfCredentials: Bool {
        switch self {
        case .badCertificate, .badCertificateEnvironment: true
        default: tokenJudgement == .refused || tokenJudgement == .unrelated
        }
    }
}

extension Rejection.Reason.Row {
    fileprivate init(_ status: Int, _ meaning: String, _ advice: RejectionAdvice, _ subject: RejectionSubject) {
        self.init(status: status, meaning: meaning, advice: advice, subject: subject)
    }
}
