import Delivery
import HTTPAPI
import Matching
import Notifications

// The formats of texts that only the management API has.
extension TextFormat {
    static let deviceID = TextFormat("a device ID: 16 hexadecimal digits", pattern: "^[0-9a-fA-F]{16}$") {
        DeviceID($0) != nil
    }

    static let invitationID = TextFormat("an invitation's ID: 64 hexadecimal digits", pattern: "^[0-9a-fA-F]{64}$") {
        Invitation.digest(withID: $0) != nil
    }

    static let teamName = line(maximumBytes: Team.maximumNameBytes)
    /// The rule of `WebPushSubscription.isName(_:)`.
    static let subscription = line(maximumBytes: WebPushSubscription.nameBytes.upperBound)
    static let grantName = line(maximumBytes: Grant.maximumNameBytes)
    static let upstreamAddress = line(maximumBytes: 300)
    static let certificateFormat = oneOf(CertificateFormat.allCases.map(\.rawValue))
    static let certificateEnvironment = oneOf(
        Environment.allCases.map(\.rawValue) + [ManagementMessages.NewCertificate.universal])

    /// A duration that `Duration(iso8601:)` can read and that is not negative.
    static let duration = TextFormat(
        "a duration of ISO 8601 in days, hours, minutes and seconds, up to 366 days, such as PT1H or PT0.5S",
        pattern: "^P(?=[0-9T])(?:[0-9]{1,9}D)?"
            + "(?:T(?=[0-9])(?:[0-9]{1,9}H)?(?:[0-9]{1,9}M)?(?:[0-9]{1,9}(?:[.][0-9]{1,9})?S)?)?$"
    ) { Duration(iso8601: $0) != nil }

    static let nodeName = TextFormat("the name of a node", pattern: "^[A-Za-z0-9._-]{1,64}$") {
        $0.isName(maximumBytes: 64)
    }
}
