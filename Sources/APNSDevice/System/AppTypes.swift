/// One action of a category: a button under a notification (Guide, 2.2.3).
public struct NotificationAction: Sendable, Hashable, Codable {
    /// What the app is told.
    public var id: String
    /// What the user reads.
    public var title: String
    /// Whether choosing it brings the app to the foreground.
    public var opensApp: Bool

    public init(id: String, title: String, opensApp: Bool = false) {
        self.id = id
        self.title = title
        self.opensApp = opensApp
    }

    /// `opensApp` may be left out.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        title = try values.decode(String.self, forKey: .title)
        opensApp = try values.decodeIfPresent(Bool.self, forKey: .opensApp) ?? false
    }
}

/// A kind of notification that an app has registered at its launch, with its actions (Guide, 2.2.3).
public struct NotificationCategory: Sendable, Hashable, Codable {
    /// The value of `category` in the payload.
    public var id: String
    public var actions: [NotificationAction]
    /// Whether the app has a notification content extension for these notifications: see ``App/view(of:after:)``.
    public var hasContentExtension: Bool

    public init(id: String, actions: [NotificationAction], hasContentExtension: Bool = false) {
        self.id = id
        self.actions = actions
        self.hasContentExtension = hasContentExtension
    }

    /// `actions` and `hasContentExtension` may be left out.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        actions = try values.decodeIfPresent([NotificationAction].self, forKey: .actions) ?? []
        hasContentExtension = try values.decodeIfPresent(Bool.self, forKey: .hasContentExtension) ?? false
    }
}

/// A notification as the user sees it on looking closely: drawn by the app's notification content extension, or by the
/// system, which shows all of its text.
public struct NotificationView: Sendable, Hashable {
    /// What is to be read, from top to bottom.
    public var lines: [String]
    /// Whether the app's extension drew it.
    public internal(set) var isOfExtension = false

    public init(lines: [String]) { self.lines = lines }

    /// The system's own view.
    init(of content: NotificationContent) {
        lines = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }
    }
}

/// What a user does with a notification on show.
public enum NotificationResponse: Sendable, Hashable {
    /// Opens the app with it.
    case open
    /// Takes it away.
    case dismiss
    /// Chooses one of the category's actions, by its identifier.
    case action(String)
}

/// What an app in the foreground wants to be shown of a notification that it was given.
public struct Presentation: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let banner = Presentation(rawValue: 1)
    public static let sound = Presentation(rawValue: 2)
    public static let badge = Presentation(rawValue: 4)
    public static let all: Presentation = [.banner, .sound, .badge]
}

/// What came of waking an app for a silent notification.
public enum BackgroundResult: Sendable, Hashable {
    case newData
    case noData
    case failed
    /// The app took longer than the system grants.
    case timedOut
}
