import APNSProvider
import Notifications

/// What a result means for the recipient.
enum SendVerdict: Hashable {
    /// The result is the recipient's outcome. The reason is nil if the service accepted the notification.
    case final(status: Int, reason: String?, endedAt: Timestamp?)
    /// The notification is sent again later, with the same `apns-id`. In the last pass there is no such verdict about an attempt
    /// that may be this notification's fault.
    case again(cause: String)
    /// The same, because the service cannot be reached, takes nothing, or something in between has answered. This says nothing
    /// about the notification, however often it happens.
    case outage(cause: String)
    /// The service refuses the sender: the key, the certificate, the account or the clock. So every other recipient would fail
    /// too.
    case refused(cause: String)

    /// The device token is not one of this environment.
    static let badToken = SendVerdict.final(
        status: 400, reason: PushRejection.Reason.badDeviceToken.description, endedAt: nil)

    var isBadToken: Bool { self == .badToken }

    init(_ result: Result<PushReceipt, ProviderError>, isLastPass: Bool) {
        guard case .failure(let error) = result else {
            self = .final(status: 200, reason: nil, endedAt: nil)
            return
        }
        if let rejection = error.rejection {
            self.init(rejection, isLastPass: isLastPass)
        } else if error.code == .badNotification {
            self = .final(status: 0, reason: "\(error.code)", endedAt: nil)
        } else if error.code == .unexpectedAnswer || error.code == .cannotConnect {
            self = .outage(cause: error.cause)
        } else if error.code == .badCredentials || error.code == .badEnvironment {
            self = .refused(cause: error.cause)
        } else if error.mayHaveBeenTaken, isLastPass {
            self = .final(status: 0, reason: "\(error.code)", endedAt: nil)
        } else {
            self = .again(cause: error.cause)
        }
    }

    /// The client has already tried again until its deadline.
    private init(_ rejection: PushRejection, isLastPass: Bool) {
        let outcome = SendVerdict.final(
            status: rejection.status, reason: rejection.reason.description,
            endedAt: rejection.timestamp.map(Timestamp.init(nearest:)))
        switch rejection.subject {
        case .sender: self = .refused(cause: rejection.description)
        // A service may fail because of one notification. With any other status it says that it takes none.
        case .service where rejection.status == 500:
            self = isLastPass ? outcome : .again(cause: rejection.description)
        case .service: self = .outage(cause: rejection.description)
        case .notification:
            switch rejection.advice {
            // This device token got too many notifications.
            case .retryLater where rejection.reason == .tooManyRequests: self = outcome
            case .retryLater, .reconnect, .renewProviderToken:
                self = isLastPass ? outcome : .again(cause: rejection.description)
            case .fixRequest, .forgetDeviceToken, .fixCredentials: self = outcome
            }
        }
    }
}
