import Delivery
package import HTTPAPI
package import Notifications

extension ManagementMessages {
    package struct NewAppWebPush: JSONMessage {
        package var template: JSONValue?
        package var relayTo: Bool?
        package var plain: Bool?

        package init(template: JSONValue? = nil, relayTo: Bool? = nil, plain: Bool? = nil) {
            (self.template, self.relayTo, self.plain) = (template, relayTo, plain)
        }

        package static let form: JSONForm<NewAppWebPush> = .object(
            "NewAppWebPush", NewAppWebPush.init(template:relayTo:plain:),
            .optional(
                "template", .json(.openObject), \.template,
                "What notifications are made from, with objects {\"$webPush\":PART} for the parts of a message. Without it, the "
                    + "usual one, or toot-relay's if relayTo is true."),
            .optional("relayTo", .boolean, \.relayTo, meaningOfRelayTo),
            .optional("plain", .boolean, \.plain, meaningOfPlain))
    }

    private static let meaningOfRelayTo =
        "Whether the app has the relay's URL, /relay-to/…; one app of each environment can have it."
    private static let meaningOfPlain = "Whether messages to the app's phones may be without encryption."

    /// What Web Push does with messages to an app's phones.
    package struct AppWebPush: JSONMessage {
        package let bundleID: String
        package let environment: String
        package let template: JSONValue
        package let relayTo: Bool
        package let plain: Bool

        package static let form: JSONForm<AppWebPush> = .object(
            "AppWebPush", AppWebPush.init,
            .required("bundleID", .text(.bundleID), \.bundleID),
            .required("environment", .text(.environment), \.environment),
            .required("template", .json(.openObject), \.template, "What notifications are made from."),
            .required("relayTo", .boolean, \.relayTo, meaningOfRelayTo),
            .required("plain", .boolean, \.plain, meaningOfPlain))
    }
}
