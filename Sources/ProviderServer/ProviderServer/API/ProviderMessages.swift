import CampaignStore
import HTTPAPI
import Notifications

/// The messages of the provider server's API, documented in docs/provider-server.md. Each has the name of its schema in
/// `/openapi.json`. Times are ISO 8601.
enum ProviderMessages {
    static let meaningOfBundleID = "The app. A key of an app needs no name."
    /// The answer to a request that waited for the end of a message, or to a dry run.
    static let messageOrDryRun = Schema.named("MessageOrDryRun", .openObject)
}

// MARK: Parts of several messages

extension JSONMember where Part == String? {
    /// The member of a request that names its app.
    static func bundleID(_ property: @escaping @Sendable (Object) -> String?) -> JSONMember {
        .optional("bundleID", .text(.bundleID), property, ProviderMessages.meaningOfBundleID)
    }
}

extension JSONForm<Environment> {
    static var environment: JSONForm {
        JSONForm<String>.text(.environment)
            .map(to: \.rawValue, from: Environment.init(rawValue:), allowed: TextFormat.environment.name)
    }
}

extension JSONForm<Timestamp> {
    /// - Parameter isStored: whether the text is from the store; see ``Timestamp/init(text:isStored:)``.
    static func time(isStored: Bool = false) -> JSONForm {
        JSONForm<String>.text(.timeText)
            .map(
                to: \.text, from: { Timestamp(text: $0, isStored: isStored) },
                allowed: "a time with a time zone, such as 2027-01-31T09:00:00Z")
    }
}

extension Schema {
    /// A page of a list.
    static func page(of item: Schema) -> Schema {
        .object([
            .required("items", .array(item)),
            .optional("next", .string(.any), "The value of `after` for the next page; missing on the last page."),
        ])
    }
}
