package import Notifications

/// An audience that messages refer to by its name.
package struct SavedAudience: Sendable, Hashable {
    package var name: String
    /// The number of the app.
    package var app: Int64
    /// The conditions, in the JSON of a message's audience. They were checked when the request arrived.
    package var document: [UInt8]
    package var changed: Timestamp

    package init(name: String, app: Int64, document: [UInt8], changed: Timestamp) {
        self.name = name
        self.app = app
        self.document = document
        self.changed = changed
    }
}
