import APNSDevice

/// What a key means while a device listens.
enum ListenKey: Hashable {
    case respond(NotificationResponse)
    case showCentre
    case quit

    /// There are keys for as many actions.
    static let maximumActions = 9

    /// - Parameter actions: of the newest notification on show.
    init?(_ key: UInt8, actions: [NotificationAction]) {
        switch key {
        case UInt8(ascii: "o"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): self = .respond(.open)
        case UInt8(ascii: "d"): self = .respond(.dismiss)
        case UInt8(ascii: "c"): self = .showCentre
        case UInt8(ascii: "q"): self = .quit
        case UInt8(ascii: "1")...UInt8(ascii: "9"):
            let index = Int(key - UInt8(ascii: "1"))
            guard actions.indices.contains(index) else { return nil }
            self = .respond(.action(actions[index].id))
        default: return nil
        }
    }
}
