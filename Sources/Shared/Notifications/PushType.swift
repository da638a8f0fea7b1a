/// The kind of a notification, which the provider gives in `apns-push-type`.
package struct PushType: Sendable, Hashable {
    package let rawValue: String
    /// The kind of topic that goes with this type; nil for `mdm`, whose topic is the UID of a certificate's subject.
    package let topicKind: TopicKind?

    package static let alert = PushType("alert", .app)
    package static let background = PushType("background", .app)
    package static let voip = PushType("voip", .voip)
    package static let complication = PushType("complication", .complication)
    package static let fileProvider = PushType("fileprovider", .fileProvider)
    package static let location = PushType("location", .location)
    package static let liveActivity = PushType("liveactivity", .liveActivity)
    package static let pushToTalk = PushType("pushtotalk", .pushToTalk)
    package static let controls = PushType("controls", .controls)
    package static let widgets = PushType("widgets", .widgets)
    package static let mdm = PushType("mdm", nil)

    /// All push types that providers may use.
    package static let all = [
        alert, background, voip, complication, fileProvider, location, liveActivity, pushToTalk, controls, widgets, mdm,
    ]

    private init(_ rawValue: String, _ topicKind: TopicKind?) {
        self.rawValue = rawValue
        self.topicKind = topicKind
    }

    /// Creates a push type; returns nil if the text is not one of ``all``.
    package init?(rawValue: String) {
        guard let known = Self.all.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = known
    }

    /// The largest size of a text that is compared, in bytes. The longest push type has 12.
    private static let maximumBytes = 64

    /// Reads a push type that was accepted and stored before. It may come from a later release: after a rollback it is
    /// kept and passed on.
    /// - Returns: nil for text that no release writes.
    package init?(stored text: String) {
        if let known = PushType(rawValue: text) {
            self = known
            return
        }
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        self.init(text, nil)
    }
}
