/// The device tokens of an app's services, which are others than the app's own.
package struct ServiceTokens: Sendable, Hashable {
    /// Whose device token it is.
    package enum Place: Sendable, Hashable {
        /// A service, by the name of its push type, such as `voip`. `liveactivity` is the device token that starts a Live
        /// Activity.
        case service(String)
        /// A Live Activity that runs, by the name that the app gave it. The device token updates it.
        case activity(String)

        /// The device token as the store has it: one word.
        package func entry(_ token: String) -> String { word + token }

        /// The beginning of the word.
        package var word: String {
            switch self {
            case .service(let name): name + "="
            case .activity(let name): ServiceTokens.activity + name + "="
            }
        }
    }

    /// The beginning of a word of a Live Activity.
    private static let activity = "activity/"

    /// By the name of the push type.
    package var services: [String: String] = [:]
    /// By the name of the Live Activity.
    package var activities: [String: String] = [:]

    package init() {}

    /// Creates the tokens that the words say, such as `voip=00fc` and `activity/order-17=00fd`. Skips other words.
    package init(words: [String]) {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            if parts[0].hasPrefix(Self.activity) {
                activities[String(parts[0].dropFirst(Self.activity.count))] = String(parts[1])
            } else {
                services[String(parts[0])] = String(parts[1])
            }
        }
    }

    /// The words in alphabetical order.
    package var words: [String] {
        (services.map { Place.service($0).entry($1) } + activities.map { Place.activity($0).entry($1) }).sorted()
    }

    package subscript(place: Place) -> String? {
        switch place {
        case .service(let name): services[name]
        case .activity(let name): activities[name]
        }
    }
}
