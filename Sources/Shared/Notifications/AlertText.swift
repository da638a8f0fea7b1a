/// Whether an alert has something to show (Guide, Table 9-2).
package enum AlertText {
    /// The keys with a text, and those that name a text of the app. If the app does not have this text, a device shows the
    /// key.
    private static let keys = ["title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key"]

    /// Whether a device shows a text for the value of `alert`. An alert of nothing but an empty text, a launch image or
    /// arguments shows none.
    package static func isShown(_ alert: JSONValue) -> Bool {
        switch alert {
        case .string(let text): !text.isEmpty
        case .object(let members): keys.contains { members[$0].map(isText) ?? false }
        default: false
        }
    }

    /// In the alert of a Live Activity, an object with `loc-key` may be in place of a text.
    private static func isText(_ value: JSONValue) -> Bool {
        (value.string ?? value.members["loc-key"]?.string).map { !$0.isEmpty } ?? false
    }
}
