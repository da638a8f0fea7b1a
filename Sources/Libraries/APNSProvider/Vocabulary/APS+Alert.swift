extension APS {
    /// The `alert` dictionary (Guide, Table 9-2, and the subtitle's keys, which came later).
    ///
    /// Each text is either given directly, or as the key of a string in the app's `Localizable.strings` and the
    /// arguments for that string's placeholders (Guide, 2.2.4.2). A string literal makes an alert with that body.
    public struct Alert: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A short text that says what the notification is about (`title`).
        public var title: String?
        /// A second line below the title (`subtitle`).
        public var subtitle: String?
        /// The text of the alert (`body`).
        public var body: String?
        /// The name of an image file in the app, which the system shows while the app starts (`launch-image`).
        public var launchImage: String?
        /// The key of the title in the app's `Localizable.strings` (`title-loc-key`).
        public var titleLocKey: String?
        /// The values for the placeholders in the title's string (`title-loc-args`).
        public var titleLocArgs: [String]?
        /// The key of the subtitle in the app's `Localizable.strings` (`subtitle-loc-key`).
        public var subtitleLocKey: String?
        /// The values for the placeholders in the subtitle's string (`subtitle-loc-args`).
        public var subtitleLocArgs: [String]?
        /// The key of the body in the app's `Localizable.strings` (`loc-key`).
        public var locKey: String?
        /// The values for the placeholders in the body's string (`loc-args`).
        public var locArgs: [String]?
        /// The key of the action button's title in the app's `Localizable.strings` (`action-loc-key`).
        public var actionLocKey: String?
        /// Keys that this library has no property for.
        ///
        /// A payload with a key here that a property already writes is refused with
        /// ``ProviderError/Code/badNotification``.
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

        /// An alert with only this body.
        public init(stringLiteral text: String) { self.init(body: text) }

        /// Whether the alert has only a body. Such an alert is written as a string instead of a dictionary.
        var isBodyAlone: Bool { self == Alert(body: body) && body != nil }
    }

    /// The sound that the device plays.
    public struct Sound: Sendable, Hashable {
        /// The name of a sound file in the app, or `default`.
        public var name: String
        /// Whether the sound plays even when the device is muted. The app needs Apple's permission for this.
        public var isCritical: Bool
        /// The volume of a critical sound, from 0 to 1.
        public var volume: Double?

        /// The system's default sound.
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
