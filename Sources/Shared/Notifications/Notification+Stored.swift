extension Notification {
    /// A notification from what a store keeps of it, in the same columns in all stores. A parameter is nil for NULL.
    /// - Parameters:
    ///   - expiration: the bits of the seconds as a signed number, because databases have no other.
    ///   - pushType: a ``StoredPushType``.
    /// - Returns: nil if no store has written these.
    package init?(
        stored id: NotificationID?,
        priority: Int64?,
        expiration: Int64?,
        contents: Int64?,
        pushType: String?,
        topic: String?,
        collapseID: String?,
        payload: [UInt8]?,
    ) {
        let (type, collapse) = (
            pushType.flatMap { StoredPushType($0) }, collapseID.flatMap(CollapseIdentifier.init(rawValue:))
        )
        guard let id, let priority = priority.flatMap(UInt8.init(exactly:)).flatMap(Priority.init(rawValue:)),
            let contents = contents.flatMap(UInt8.init(exactly:)), let topic, let payload,
            pushType == nil || type != nil, collapseID == nil || collapse != nil
        else { return nil }
        self.init(
            id: id, topic: topic, pushType: type?.pushType, priority: priority,
            expiration: expiration.map { Expiration(seconds: UInt64(bitPattern: $0)) } ?? .unspecified,
            collapseID: collapse, activity: type?.activity,
            payload: Payload(stored: payload, contents: Payload.Contents(rawValue: contents)))
    }
}
