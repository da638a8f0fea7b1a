import Notifications

extension ConsoleFile {
    /// The module `pushtypes.js`, written from the table in `Notifications`.
    static var pushTypes: ConsoleFile {
        let types = PushType.allCases.map { "\"\($0.rawValue)\"" }
        let suffixes = PushType.allCases.compactMap { type in
            type.topicKind.map { "\"\(type.rawValue)\": \"\($0.suffix)\"" }
        }
        let services = TopicKind.allCases.compactMap { kind in kind.title.map { "\"\(kind.suffix)\": \"\($0)\"" } }
        let module = """
            // The push types, from the table of the service.

            export const pushTypes = [\(types.joined(separator: ", "))];

            /** What follows the bundle ID in the topic, by push type. */
            export const suffixes = { \(suffixes.joined(separator: ", ")) };

            /** The services of an app, by the end of their topic. */
            export const services = { \(services.joined(separator: ", ")) };

            """
        return ConsoleFile(Array(module.utf8), .module)
    }
}

extension TopicKind {
    /// The service's name for people; nil for the app itself.
    fileprivate var title: String? {
        switch self {
        case .app: nil
        case .voip: "VoIP"
        case .complication: "complication"
        case .fileProvider: "file provider"
        case .location: "location"
        case .liveActivity: "Live Activity"
        case .pushToTalk: "push to talk"
        case .controls: "controls"
        case .widgets: "widgets"
        }
    }
}
