import APNSDevice
import HTTPAPI

/// The forms of the agent's documents.
enum AgentSchemas {
    private static let text = JSONForm.text(.any)
    private static let name = TextFormat.line(maximumBytes: AgentLimits.actionBytes)
    private static let services = PushService.withTokens.map(\.rawValue)

    // MARK: Requests

    static let appSettings: JSONForm<AppSettingsDocument> = .object(
        "AppSettings", AppSettingsDocument.init(alerts:sounds:badges:),
        .optional("alerts", .text(.oneOf(AppSettings.AlertStyle.allCases.map(\.rawValue))), \.alerts),
        .optional("sounds", .boolean, \.sounds), .optional("badges", .boolean, \.badges))

    static let registration: JSONForm<AppRegistration> = .object(
        "Registration", AppRegistration.init,
        .optional(
            "services", .list(of: .text(.oneOf(services)), to: services.count), \.services,
            "The services whose device tokens the app wants."),
        .optional(
            "channels", .list(of: .text(.line(maximumBytes: 200)), to: AgentLimits.channels), \.channels,
            "The broadcast channels that the app is subscribed to."),
        .optional("categories", .list(of: category, to: AgentLimits.categories), \.categories),
        .optional(
            "localizations", .dictionary(of: .exactDictionary(of: .text(.any))), \.localizations,
            "Of each language, an object with the text of each key."),
        .optional("settings", appSettings, \.settings, "The settings until the user changes them."))

    private static let category: JSONForm<NotificationCategory> = .object(
        "Category", { NotificationCategory(id: $0, actions: $1 ?? [], hasContentExtension: $2 ?? false) },
        .required("id", .text(name), \.id),
        .optional("actions", .list(of: action, to: AgentLimits.actions), \.actions),
        .optional("hasContentExtension", .boolean, \.hasContentExtension))

    private static let action: JSONForm<NotificationAction> = .object(
        nil, { NotificationAction(id: $0, title: $1, opensApp: $2 ?? false) },
        .required("id", .text(name), \.id), .required("title", .text(name), \.title),
        .optional("opensApp", .boolean, \.opensApp))

    static let handled: JSONForm<[Int64]> = object(
        "deliveries", .list(of: .integer(from: 1), to: AgentLimits.handledNumbers), "The numbers of the events.")

    static let state = object("state", stateName)

    /// An app that was never launched has not registered, so nobody says this of it.
    private static let stateName = JSONForm<String>
        .text(.oneOf(AppState.allCases.filter { $0 != .neverLaunched }.map(\.rawValue)))
        .map(to: \.rawValue, from: { AppState(rawValue: $0) }, allowed: "a state")

    static let response: JSONForm<UserResponse> = .object(
        nil, UserResponse.init,
        .required("response", .text(.oneOf(["open", "dismiss", "action"])), \.response),
        .optional("action", .text(.any), \.action, "The identifier of the action, with the response action."))

    static let badge: JSONForm<Int> = object("badge", .integer(to: Int(Int32.max)))

    static let quiet = object("doNotDisturb", JSONForm.boolean)

    static let subscriptionOptions: JSONForm<SubscriptionOptions> = .object(
        "SubscriptionOptions", SubscriptionOptions.init,
        .optional(
            "vapid", .text(VAPIDText.format), \.vapid,
            "The only VAPID key that may send; everybody who knows the endpoint if it is missing."
        ),
        .optional("plain", .boolean, \.plain, "Whether bodies that are not encrypted are taken."))

    /// An object with one member, whose value is read.
    private static func object<Value: Sendable>(
        _ key: String,
        _ form: JSONForm<Value>,
        _ meaning: String = "",
    ) -> JSONForm<Value> {
        let value: @Sendable (Value) -> Value = { $0 }
        return .object(nil, value, .required(key, form, value, meaning))
    }

    // MARK: Answers

    static let tokens: JSONForm<AppTokens> = .object(
        "Tokens", AppTokens.init,
        .required("token", .text(.hexadecimal), \.token, "The app's device token."),
        .required("services", .dictionary(of: .text(.any)), \.services, "The device token of each service."))

    static let endpoint: JSONForm<String> = object("endpoint", text, "The URL to which application servers send.")

    static let subscriptions: JSONForm<[WebPushSubscription]> = object(
        "subscriptions", .list(of: subscription))

    private static let subscription: JSONForm<WebPushSubscription> = .object(
        "Subscription",
        { WebPushSubscription(name: $0, endpoint: $1, vapid: $2, isPlain: $3) },
        .required("name", text, \.name), .required("endpoint", text, \.endpoint),
        .optional("vapid", text, \.vapid), .required("plain", .boolean, \.isPlain))

    static let count: JSONForm<Int> = object("handled", .integer(), "How many of them were in the queue.")

    static let settings: JSONForm<DeviceSettings> = .object(
        "Settings", DeviceSettings.init,
        .required("doNotDisturb", .boolean, \.doNotDisturb),
        .required("apps", .dictionary(of: appSettings), \.apps, "The settings of each app, by its bundle ID."))

    static let status: JSONForm<AgentStatus> = .object(
        "Status", AgentStatus.init,
        .optional("deviceID", text, \.deviceID, "There is none while the service refuses the first activation code."),
        .required("environment", text, \.environment),
        .required("service", text, \.service, "The address of the courier."),
        .required(
            "connection", .text(.oneOf(["connecting", "connected", "disconnected", "ended"])), \.connection),
        .optional("cause", text, \.cause, "Why there is no connection."), .required("version", text, \.version),
        .required("doNotDisturb", .boolean, \.doNotDisturb),
        .required("apps", .list(of: app), \.apps, "Those that the caller may be; for root all."),
        .optional("refusedManifests", .list(of: refused), \.refusedManifests),
        .optional(
            "dropped", .dictionary(of: .integer()), \.dropped,
            "How many notifications reached neither app nor user, by reason."),
        .optional(
            "distributor", distributor, \.distributor,
            "The distributor of UnifiedPush; for root and the agent's user. Missing if the agent is none."),
        .optional("settings", start, \.settings, "How the agent was started; for root and the agent's user."))

    private static let start: JSONForm<AgentStatus.Start> = .object(
        "Start",
        AgentStatus.Start.init(
            state:host:port:ca:apps:environment:codeFile:identityFile:bus:unifiedPush:unifiedPushBus:),
        .required("state", text, \.state), .required("host", text, \.host), .required("port", .integer(), \.port),
        .required("ca", text, \.ca), .required("apps", text, \.apps), .required("environment", text, \.environment),
        .optional("codeFile", text, \.codeFile), .optional("identityFile", text, \.identityFile),
        .optional("bus", text, \.bus, "The address of the bus on which alerts are shown."),
        .optional("unifiedPush", text, \.unifiedPush, "The app of the distributor's subscriptions."),
        .optional("unifiedPushBus", text, \.unifiedPushBus, "The address of the bus on which the distributor is."))

    private static let distributor: JSONForm<AgentStatus.Distributing> = .object(
        "Distributor", AgentStatus.Distributing.init, .required("app", text, \.app),
        .required(
            "name", .text(.oneOf(Distributor.NameState.allCases.map(\.rawValue))), \.name,
            "Whether the agent owns the distributor's name, waits until another program leaves it, or has no bus."),
        .required("registrations", .integer(), \.registrations, "How many registrations apps have."))

    private static let app: JSONForm<AppStatus> = .object(
        "AppStatus", AppStatus.init,
        .required("bundleID", text, \.bundleID), .required("name", text, \.name),
        .required("state", .text(.oneOf(AppState.allCases.map(\.rawValue))), \.state),
        .required("streams", .integer(), \.streams),
        .required("pending", .integer(), \.pending, "The events that the app has not handled."),
        .optional("token", text, \.token))

    private static let refused: JSONForm<ManifestFolder.Refused> = .object(
        nil, ManifestFolder.Refused.init, .required("file", text, \.file), .required("cause", text, \.cause))
}
