package import NIOCore

/// A request as it goes to the service: headers as they are, judged by nobody on the way.
package struct PushRequest: Sendable, Hashable {
    /// Hexadecimal digits, in `:path`.
    package var deviceToken: String
    package var topic: String?
    /// A JSON dictionary in UTF-8. A buffer, because many requests share one payload.
    package var payload: ByteBuffer
    package var id: String?
    package var expiration: String?
    package var priority: String?
    package var collapseID: String?
    package var pushType: String?

    package init(
        deviceToken: String,
        topic: String?,
        payload: ByteBuffer,
        id: String? = nil,
        expiration: String? = nil,
        priority: String? = nil,
        collapseID: String? = nil,
        pushType: String? = nil,
    ) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.payload = payload
        self.id = id
        self.expiration = expiration
        self.priority = priority
        self.collapseID = collapseID
        self.pushType = pushType
    }
}
