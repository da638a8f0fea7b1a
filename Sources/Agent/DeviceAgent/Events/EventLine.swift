package import APNSDevice

/// The lines of JSON in which `carillon device listen --json --as-app` and the agent say what an app is told.
package enum EventLine {
    /// The app, or one of its services, got a device token.
    package static func registered(_ bundleID: String, _ service: PushService?, _ token: String) -> JSONLine {
        var line = JSONLine(event: "registered")
        line.add("bundleID", bundleID)
        line.add("service", service?.rawValue)
        line.add("token", token)
        return line
    }

    /// The app in the foreground got a notification.
    package static func received(_ notification: ReceivedNotification, _ content: NotificationContent) -> JSONLine {
        var line = JSONLine(event: "received")
        line.add("state", AppState.foreground.rawValue)
        line.add("content", value: ContentLine(content))
        line.add(notification)
        return line
    }

    /// A notification is shown.
    package static func shown(_ shown: ShownNotification) -> JSONLine {
        var line = JSONLine(event: "shown")
        line.add("style", shown.style.rawValue)
        line.add("content", value: ContentLine(shown.content))
        if !shown.actions.isEmpty { line.add("actions", value: shown.actions) }
        line.add(shown.notification)
        return line
    }

    /// A push for one of the app's services.
    package static func pushed(_ notification: ReceivedNotification, _ service: PushService) -> JSONLine {
        var line = JSONLine(event: "pushed")
        line.add("service", service.rawValue)
        line.add(notification)
        return line
    }

    /// A Web Push message came for one of the app's subscriptions.
    /// - Parameter text: what is inside; nil if the message is not decrypted.
    package static func webPush(_ notification: ReceivedNotification, text: String? = nil) -> JSONLine {
        var line = JSONLine(event: "webpush")
        line.add(notification)
        line.add("text", text)
        return line
    }

    /// The user responded to a notification.
    package static func responded(_ shown: ShownNotification, _ response: NotificationResponse) -> JSONLine {
        var line = JSONLine(event: "responded")
        line.add("id", shown.id)
        line.add("bundleID", shown.bundleID)
        switch response {
        case .open: line.add("response", "open")
        case .dismiss: line.add("response", "dismiss")
        case .action(let action):
            line.add("response", "action")
            line.add("action", action)
        }
        return line
    }

    /// The app is woken by a silent notification. It has ``AgentLimits/backgroundSeconds`` for it.
    static func woken(_ notification: ReceivedNotification) -> JSONLine {
        var line = JSONLine(event: "woken")
        line.add("seconds", value: AgentLimits.backgroundSeconds)
        line.add(notification)
        return line
    }

    /// A notification that has a badge or a sound, and nothing to show.
    static func noticed(_ notification: ReceivedNotification, _ noticed: SystemState.Noticed) -> JSONLine {
        var line = JSONLine(event: noticed.badge == nil ? "sound" : "badge")
        line.add("badge", value: noticed.badge)
        line.add("sound", value: noticed.sound.map { ContentLine.Sound($0) })
        line.add(notification)
        return line
    }
}
