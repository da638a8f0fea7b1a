import CampaignStore
import HTTPAPI
import Notifications

extension ProviderMessages {
    /// A hook to add.
    struct HookRequest: JSONMessage {
        let bundleID: String?
        let url: HookURL

        static let form: JSONForm<HookRequest> = .object(
            "HookRequest", HookRequest.init, .bundleID(\.bundleID),
            .required("url", HookURL.form, \.url, "Where events are sent."))
    }

    struct Hook: JSONMessage {
        let id: String
        let bundleID: String
        let url: String
        let secret: String?

        static let form: JSONForm<Hook> = .object(
            "Hook", Hook.init,
            .required("id", .text(.any), \.id), .required("bundleID", .text(.any), \.bundleID),
            .required("url", .text(.any), \.url),
            .optional(
                "secret", .text(.any), \.secret,
                "The key of the signatures. Only the answer that adds the hook has it."))
    }

    /// One event for a hook.
    struct Delivery: JSONMessage {
        let id: String
        let type: String
        let createdAt: String
        let attempts: Int64
        let state: String
        let nextAttemptAt: String?
        let status: Int64?
        let cause: String?

        static let form: JSONForm<Delivery> = .object(
            "Delivery", Delivery.init,
            .required("id", .text(.any), \.id, "The same in every attempt."),
            .required("type", .text(.any), \.type, "The type of the event, such as message.finished."),
            .required("createdAt", .text(.any), \.createdAt), .required("attempts", .integer(), \.attempts),
            .required("state", .text(.oneOf(["waiting", "delivered", "given up"])), \.state),
            .optional("nextAttemptAt", .text(.any), \.nextAttemptAt),
            .optional("status", .integer(to: 999), \.status, "The HTTP status of the last attempt."),
            .optional("cause", .text(.any), \.cause, "Why the last attempt failed."))
    }
}

extension ProviderMessages.Hook {
    init(_ hook: HookRecord, _ app: ProviderApp, secret: String? = nil) {
        self.init(id: hook.id, bundleID: app.bundleID, url: hook.url, secret: secret)
    }
}

extension ProviderMessages.Delivery {
    init(_ delivery: HookDelivery) {
        self.init(
            id: delivery.id, type: delivery.event.kind, createdAt: delivery.created.text, attempts: delivery.attempts,
            state: delivery.next != nil ? "waiting" : delivery.cause == nil ? "delivered" : "given up",
            nextAttemptAt: delivery.next?.text, status: delivery.status, cause: delivery.cause)
    }
}
