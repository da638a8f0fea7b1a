import APNSDevice
import HTTPAPI

/// The forms of the agent's documents.
enum AgentSchemas {
    private static let text = Schema.string(.any)
    private static let name = Schema.string(.line(maximumBytes: AgentLimits.actionBytes))
    private static let count64 = Schema.integer(0...Int64.max)
    private static let services = PushService.withTokens.map(\.rawValue)

    static let appSettings = Schema.named(
        "AppSettings",
        .object([
            .optional("alerts", .string(.oneOf(AppSettings.AlertStyle.allCases.map(\.rawValue)))),
            .optional("sounds", .boolean), .optional("badges", .boolean),
        ]))

    static let registration = Schema.named(
        "Registration",
        .object([
            .optional(
                "services", .array(.string(.oneOf(services)), count: 0...services.count),
                "The services whose device tokens the app wants."),
            .optional(
                "channels", .array(.string(.line(maximumBytes: 200)), count: 0...AgentLimits.channels),
                "The broadcast channels that the app is subscribed to."),
            .optional("categories", .array(category, count: 0...AgentLimits.categories)),
            .optional("localizations", .openObject, "Of each language, an object with the text of each key."),
            .optional("settings", appSettings, "The settings until the user changes them."),
        ]))

    private static let category = Schema.named(
        "Category",
        .object([
            .required("id", name),
            .optional(
                "actions",
                .array(
                    .object([.required("id", name), .required("title", name), .optional("opensApp", .boolean)]),
                    count: 0...AgentLimits.actions)),
            .optional("hasContentExtension", .boolean),
        ]))

    static let tokens = Schema.named(
        "Tokens",
        .object([
            .required("token", .string(.hexadecimal), "The app's device token."),
            .required("services", .openObject, "The device token of each service."),
        ]))

    static let handled = Schema.object([
        .required(
            "deliveries", .array(.integer(1...Int64.max), count: 0...AgentLimits.handledNumbers),
            "The numbers of the events.")
    ])

    static let count = Schema.object([.required("handled", count64, "How many of them were in the queue.")])

    /// An app that was never launched has not registered, so nobody says this of it.
    static let state = Schema.object([
        .required("state", .string(.oneOf(AppState.allCases.filter { $0 != .neverLaunched }.map(\.rawValue))))
    ])

    static let response = Schema.object([
        .required("response", .string(.oneOf(["open", "dismiss", "action"]))),
        .optional("action", text, "The identifier of the action, with the response action."),
    ])

    static let badge = Schema.object([.required("badge", .integer(0...Int64(Int32.max)))])

    static let quiet = Schema.object([.required("doNotDisturb", .boolean)])

    static let settings = Schema.named(
        "Settings",
        .object([
            .required("doNotDisturb", .boolean),
            .required("apps", .openObject, "The settings of each app, by its bundle ID."),
        ]))

    static let status = Schema.named(
        "Status",
        .object([
            .required("deviceID", text), .required("environment", text),
            .required("service", text, "The address of the courier."),
            .required("connection", .string(.oneOf(["connecting", "connected", "disconnected", "ended"]))),
            .optional("cause", text, "Why there is no connection."), .required("version", text),
            .required("doNotDisturb", .boolean),
            .required("apps", .array(.named("AppStatus", app)), "Those that the caller may be; for root all."),
            .optional("refusedManifests", .array(.object([.required("file", text), .required("cause", text)]))),
            .optional("dropped", .openObject, "How many notifications reached neither app nor user, by reason."),
        ]))

    private static let app = Schema.object([
        .required("bundleID", text), .required("name", text),
        .required("state", .string(.oneOf(AppState.allCases.map(\.rawValue)))), .required("streams", count64),
        .required("pending", count64, "The events that the app has not handled."), .optional("token", text),
    ])
}
