import CampaignStore
import Foundation
import HTTPAPI

/// The outcome of one recipient, as the API shows it.
struct OutcomeView: Sendable {
    let installation: String?
    let apnsID: String
    let status: Int64
    let reason: String?
    let at: String
    let openedAt: String?

    static let form: JSONForm<OutcomeView> = JSONForm.object(
        "Outcome", OutcomeView.init(installation:apnsID:status:reason:at:openedAt:),
        .optional("installation", .text(.any), \.installation, "Missing if it has been deleted."),
        .required("apnsID", .text(.any), \.apnsID),
        .required("status", .integer(to: 999), \.status, "The HTTP status of the service; 0 if nothing was sent."),
        .optional("reason", .text(.any), \.reason, "Missing if the service accepted the notification."),
        .required("at", .text(.any), \.at),
        .optional("openedAt", .text(.any), \.openedAt, "When the app said that the notification was opened."))
}

extension OutcomeView {
    init(_ kept: KeptOutcome, of message: String) {
        let id = NotificationName.make(message: message, installation: kept.outcome.installation)
        self.init(
            // fits: a status of three digits
            installation: kept.installation, apnsID: id.uuidString.lowercased(), status: Int64(kept.outcome.status),
            reason: kept.outcome.reason, at: kept.outcome.at.text, openedAt: kept.outcome.opened?.text)
    }
}
