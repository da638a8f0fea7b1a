extension NotificationContent {
    /// Creates the content of a payload in the user's language.
    init(_ payload: PayloadReading, _ localizations: Localizations, languages: [String]) {
        self.init()
        /// Localises a text. If there is a key, it comes before the text. If the key is not found, the text is used,
        /// or else the key itself, as the system does.
        func text(_ key: String?, _ arguments: [String], _ plain: String?) -> String {
            guard let key else { return plain ?? "" }
            guard let format = localizations.text(key, for: languages) else { return plain ?? key }
            return FormatString.filled(format, arguments)
        }
        if let alert = payload.alert {
            title = text(alert.titleKey, alert.titleArguments, alert.title)
            subtitle = text(alert.subtitleKey, alert.subtitleArguments, alert.subtitle)
            body = text(alert.bodyKey, alert.bodyArguments, alert.body)
            actionTitle = alert.actionKey.map { text($0, [], nil) }
            launchImage = alert.launchImage
        }
        badge = payload.badge
        sound = payload.sound
        threadID = payload.threadID ?? ""
        category = payload.category
        targetContentID = payload.targetContentID
        filterCriteria = payload.filterCriteria
        interruptionLevel = payload.interruptionLevel ?? .active
        relevanceScore = payload.relevanceScore ?? 0
    }
}
