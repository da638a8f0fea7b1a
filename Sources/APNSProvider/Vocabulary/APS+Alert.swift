extension APS {
    /// The `alert` dictionary (Guide, Table 9-2, and the subtitle's keys, which came later).
    ///
    /// A text is either given, or named by the key of a string in the app's `Localizable.strings`, whose placeholders
    /// the arguments replace (Guide, 2.2.4.2). A string literal is an alert with that body.
    public struct Alert: Sendable, Hashable, ExpressibleByStringLiteral {
        /// What the notification is about, short.
        public var title: String?
        /// A second line below the title.
        public var subtitle: String?
        /// The text.
        public var body: String?
        /// The image to show while the app starts, a file's name in the app.
        public var launchImage: String?
        /// The key of the title.
        public var titleLocKey: String?
        /// What the placeholders of the title's string stand for.
        public var titleLocArgs: [String]?
        /// The key of the subtitle.
        public var subtitleLocKey: String?
        /// What the placeholders of the subtitle's string stand for.
        public var subtitleLocArgs: [String]?
        /// The key of the text.
        public var locKey: String?
        /// What the placeholders of the text's string stand for.
        public var locArgs: [String]?
        /// The key of the action button's title.
        public var actionLocKey: String?
        /// Keys that this library has no property for. A key that a property writes does not belong here.
        public var other: [String: JSONValue] = [:]

        /// An alert with the given keys.
        public init(
            title: String? = nil,
            subtitle: String? = nil,
            body: String? = nil,
            launchImage: String? = nil,
            titleLocKey: String? = nil,
            titleLocArgs: [String]? = nil,
            subtitleLocKey: String? = nil,
            subtitleLocArgs: [String]? = nil,
            locKey: String? = nil,
            locArgs: [String]? = nil,
            actionLocKey: String? = nil,
            other: [String: JSONValue] = [:],
        ) {
            self.title = title
            self.subtitle = subtitle
            self.body = body
            self.launchImage = launchImage
            self.titleLocKey = titleLocKey
            self.titleLocArgs = titleLocArgs
            self.subtitleLocKey = subtitleLocKey
            self.subtitleLocArgs = subtitleLocArgs
            self.locKey = locKey
            self.locArgs = locArgs
            self.actionLocKey = actionLocKey
            self.other = other
        }

        /// An alert with this text alone.
        public init(stringLiteral text: String) { self.init(body: text) }

        /// Whether it has nothing but a text, which then stands for the dictionary.
        var isBodyAlone: Bool { self == Alert(body: body) && body != nil }
    }

    /// What is played.
    public struct Sound: Sendable, Hashable {
        /// A file's name in the app, or `default`.
        public var name: String
        /// Sounds even when the device is muted. Needs Apple's leave.
        public var isCritical: Bool
        /// Of a critical sound, from 0 to 1.
        public var volume: Double?

        /// The system's own sound.
        public static let `default` = Sound(name: "default", isCritical: false, volume: nil)

        /// A sound file of the app.
        public static func named(_ name: String) -> Sound { Sound(name: name, isCritical: false, volume: nil) }

        /// A sound that plays even when the device is muted.
        /// - Parameters:
        ///   - name: a file's name in the app, or `default`.
        ///   - volume: from 0 to 1.
        public static func critical(_ name: String = "default", volume: Double = 1) -> Sound {
            Sound(name: name, isCritical: true, volume: volume)
        }
    }
}
