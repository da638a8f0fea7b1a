package import APNSDevice

/// What is shown of a notification, in JSON. Missing parts are left out.
package struct ContentLine: Encodable, Sendable {
    package struct Sound: Encodable, Sendable {
        let name: String
        let critical: Bool
        let volume: Double

        package init(_ sound: NotificationContent.Sound) {
            name = sound.name
            critical = sound.isCritical
            volume = sound.volume
        }
    }

    let title, subtitle, body, threadID: String?
    let badge: Int?
    let sound: Sound?
    let category, launchImage, actionTitle, targetContentID, filterCriteria: String?
    let interruptionLevel: String
    let relevanceScore: Double

    package init(_ content: NotificationContent) {
        func text(_ text: String) -> String? { text.isEmpty ? nil : text }
        title = text(content.title)
        subtitle = text(content.subtitle)
        body = text(content.body)
        threadID = text(content.threadID)
        badge = content.badge
        sound = content.sound.map { Sound($0) }
        category = content.category
        launchImage = content.launchImage
        actionTitle = content.actionTitle
        targetContentID = content.targetContentID
        filterCriteria = content.filterCriteria
        interruptionLevel = content.interruptionLevel.rawValue
        relevanceScore = content.relevanceScore
    }
}
