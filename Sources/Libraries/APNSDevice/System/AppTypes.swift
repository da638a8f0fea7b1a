/// An action of a category: a button below a notification (Guide, 2.2.3).
public struct NotificationAction: Sendable, Hashable, Codable {
    /// The identifier that the app gets when the user chooses the action.
    public var id: String
    /// The button's title.
    public var title: String
    /// Whether the action brings the app to the foreground.
    public var opensApp: Bool

    /// Creates an action.
    public init(id: String, title: String, opensApp: Bool = false) {
        self.id = id
        self.title = title
        self.opensApp = opensApp
    }

    /// Decodes an action. `opensApp` is optional.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        title = try values.decode(String.self, forKey: .title)
        opensApp = try values.decodeIfPresent(Bool.self, forKey: .opensApp) ?? false
    }
}

/// A category of notifications that an app registers at its launch, with its actions (Guide, 2.2.3).
public struct NotificationCategory: Sendable, Hashable, Codable {
    /// The value of `category` in the payload.
    public var id: String
    /// The actions of the category.
    public var actions: [NotificationAction]
    /// Whether the app has a notification content extension for this category; see ``App/view(of:after:)``.
    public var hasContentExtension: Bool

    /// Creates a category.
    public init(id: String, actions: [NotificationAction], hasContentExtension: Bool = false) {
        self.id = id
        self.actions = actions
        self.hasContentExtension = hasContentExtension
    }

    /// Decodes a category. `actions` and `hasContentExtension` are optional.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        actions = try values.decodeIfPresent([NotificationAction].self, forKey: .actions) ?? []
        hasContentExtension = try values.decodeIfPresent(Bool.self, forKey: .hasContentExtension) ?? false
    }
}

/// The view of a notification that the user has expanded. The app's notification content extension draws it;
/// otherwise the system shows all of the notification's text.
public struct NotificationView: Sendable, Hashable {
    /// The lines of text, from top to bottom.
    public var lines: [String]
    /// Whether the app's extension drew it.
    public internal(set) var isOfExtension = false

    /// Creates a view.
    public init(lines: [String]) { self.lines = lines }

    /// Creates the system's own view.
    init(of content: NotificationContent) {
        lines = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }
    }
}

/// The user's response to a notification.
public enum NotificationResponse: Sendable, Hashable {
    /// Opens the app.
    case open
    /// Removes the notification.
    case dismiss
    /// Chooses the action of the category that has this identifier.
    case action(String)
}

/// The parts of a notification that an app in the foreground wants the system to present.
public struct Presentation: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Shows the notification.
    public static let banner = Presentation(rawValue: 1)
    /// Plays its sound.
    public static let sound = Presentation(rawValue: 2)
    /// Changes the app's badge.
    public static let badge = Presentation(rawValue: 4)
    public static let all: Presentation = [.banner, .sound, .badge]
}

/// The result of waking an app for a silent notification.
public enum BackgroundResult: Sendable, Hashable {
    case newData
    case noData
    case failed
    /// The app took longer than the system allows.
    case timedOut
}
