import APNSDevice
import CommandSupport
import Foundation

/// Draws a notification as a banner of text, and the notification centre as several banners.
struct BannerDrawing {
    /// The width, in columns, up to which a text is easy to read.
    private static let widest = 64
    private static let narrowest = 24
    /// How many lines of a text are shown before the notification is opened.
    private static let bodyLines = 4

    private let inside: Int
    private let takesKeys: Bool

    /// - Parameters:
    ///   - columns: the width of the terminal.
    ///   - takesKeys: whether to show which keys the user can press.
    init(columns: Int, takesKeys: Bool) {
        inside = min(max(columns, Self.narrowest), Self.widest) - 4
        self.takesKeys = takesKeys
    }

    /// The time on a banner. It has 24 hours everywhere: the style for a place with twelve of them needs AM and PM.
    static func time(_ moment: Date, in zone: TimeZone = .current) -> String {
        let style = Date.VerbatimFormatStyle(
            format: "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits)",
            locale: Locale(identifier: "en_US_POSIX"), timeZone: zone, calendar: Calendar(identifier: .gregorian))
        return moment.formatted(style)
    }

    /// The banner's lines.
    func lines(_ shown: ShownNotification, badge: Int, time: String) -> [String] {
        let content = shown.content
        var texts = [head(shown.bundleID, badge: badge, time: time)]
        if !content.title.isEmpty { texts += TerminalText.wrapped(content.title, columns: inside, maximum: 2) }
        if !content.subtitle.isEmpty { texts += TerminalText.wrapped(content.subtitle, columns: inside, maximum: 2) }
        if !content.body.isEmpty {
            texts += TerminalText.wrapped(content.body, columns: inside, maximum: Self.bodyLines)
        }
        if let sound = content.sound, content.interruptionLevel != .passive { texts.append("♪ \(sound.name)") }
        if takesKeys { texts += TerminalText.wrapped(keys(shown), columns: inside, maximum: 3) }
        return framed(texts)
    }

    /// The lines of the centre: one banner for each group, with the number of further notifications in it.
    func lines(_ centre: NotificationCentre, times: [String: String]) -> [String] {
        guard !centre.notifications.isEmpty else { return ["No notifications."] }
        return centre.groups.flatMap { group -> [String] in
            guard let newest = group.notifications.first else { return [] }
            let plain = BannerDrawing(inside: inside, takesKeys: false)
            let banner = plain.lines(
                newest, badge: centre.badge(of: group.bundleID), time: times[newest.id] ?? "")
            let more = group.notifications.count - 1
            let thread = group.threadID.isEmpty ? "" : " in \(group.threadID)"
            return more == 0 ? banner : banner + ["  and \(more) more\(thread)"]
        }
    }

    private init(inside: Int, takesKeys: Bool) {
        self.inside = inside
        self.takesKeys = takesKeys
    }

    private func head(_ bundleID: String, badge: Int, time: String) -> String {
        let right = badge > 0 ? "● \(badge)  \(time)" : time
        let left = TerminalText.filled(bundleID, columns: max(1, inside - TerminalText.width(right) - 1))
        return "\(left) \(right)"
    }

    private func keys(_ shown: ShownNotification) -> String {
        let actions = shown.actions.prefix(ListenKey.maximumActions).enumerated()
            .map { "[\($0.offset + 1)] \($0.element.title)" }  // fits: an index
        // An alert has two buttons, which the Guide names (Table 9-2, `action-loc-key`).
        let (open, close) = shown.style == .alert ? ("View", "Close") : ("open", "dismiss")
        return (actions + ["[o] \(shown.content.actionTitle ?? open)", "[d] \(close)"]).joined(separator: "  ")
    }

    private func framed(_ texts: [String]) -> [String] {
        let line = String(repeating: "─", count: inside + 2)
        return ["╭\(line)╮"] + texts.map { "│ \(TerminalText.filled($0, columns: inside)) │" } + ["╰\(line)╯"]
    }
}
