import APNSDevice

/// What a key means while a device listens.
enum ListenKey: Hashable {
    /// The user responds to the newest notification on show.
    case respond(NotificationResponse)
    case expand
    case showCentre
    /// The state of the selected app changes; nil removes the app.
    case change(AppState?)
    case selectNext
    case nextLanguage
    case toggle(Presentation)
    case quit

    /// The most actions that have a key.
    static let maximumActions = 9

    /// The help text with the keys, one on each line.
    static let help = [
        "Keys: [o]pen and [d]ismiss the newest, [e]xpand it, [c]entre, [q]uit.",
        "App: [f]oreground, [b]ackground, [k]ill, [r]emove, [n]ever opened, [a]nother app.",
        "User: next [l]anguage; [A]lerts, [S]ounds, [B]adges on or off.",
    ]

    /// - Parameter actions: those of the newest notification on show.
    init?(_ key: UInt8, actions: [NotificationAction]) {
        switch key {
        case UInt8(ascii: "o"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): self = .respond(.open)
        case UInt8(ascii: "d"): self = .respond(.dismiss)
        case UInt8(ascii: "e"): self = .expand
        case UInt8(ascii: "c"): self = .showCentre
        case UInt8(ascii: "f"): self = .change(.foreground)
        case UInt8(ascii: "b"): self = .change(.background)
        case UInt8(ascii: "k"): self = .change(.forceQuit)
        case UInt8(ascii: "n"): self = .change(.neverLaunched)
        case UInt8(ascii: "r"): self = .change(nil)
        case UInt8(ascii: "a"): self = .selectNext
        case UInt8(ascii: "l"): self = .nextLanguage
        case UInt8(ascii: "A"): self = .toggle(.banner)
        case UInt8(ascii: "S"): self = .toggle(.sound)
        case UInt8(ascii: "B"): self = .toggle(.badge)
        case UInt8(ascii: "q"): self = .quit
        case UInt8(ascii: "1")...UInt8(ascii: "9"):
            let index = Int(key - UInt8(ascii: "1"))  // fits: a digit from 1 to 9
            guard actions.indices.contains(index) else { return nil }
            self = .respond(.action(actions[index].id))
        default: return nil
        }
    }
}
