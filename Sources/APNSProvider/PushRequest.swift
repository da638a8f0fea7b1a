/// A notification as a provider hands it to the service: what goes into the headers as it is, judged by the service.
package struct PushRequest: Sendable, Hashable {
    /// Hexadecimal digits.
    package var deviceToken: String
    package var topic: String?
    /// A JSON dictionary in UTF-8.
    package var payload: [UInt8]
    package var id: String?
    package var expiration: String?
    package var priority: String?
    package var collapseID: String?
    package var pushType: String?

    package init(
        deviceToken: String,
        topic: String?,
        payload: [UInt8],
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
