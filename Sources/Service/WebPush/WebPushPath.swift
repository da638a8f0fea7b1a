import Notifications

/// What the path of a request names.
enum WebPushPath: Sendable, Hashable {
    /// `/wp/` and the identifier of an endpoint.
    case endpoint(EndpointID)
    /// `/wp/m/` and the name of a message.
    case message(String)

    /// `/wp/f/` and the identifier of a body that waits to be fetched.
    case body(EndpointID)

    /// The path of messages, before the name.
    static let messages = EndpointID.path + "m/"

    /// The path of bodies that wait to be fetched, before the identifier.
    static let bodies = EndpointID.path + "f/"

    /// - Parameter path: without a query.
    init?(_ path: String) {
        if path.hasPrefix(Self.messages) {
            let name = path.dropFirst(Self.messages.count)
            guard name.utf8.count == MessageName.textLength else { return nil }
            self = .message(String(name))
        } else if path.hasPrefix(Self.bodies) {
            guard let id = EndpointID(path.dropFirst(Self.bodies.count)) else { return nil }
            self = .body(id)
        } else if path.hasPrefix(EndpointID.path), let id = EndpointID(path.dropFirst(EndpointID.path.count)) {
            self = .endpoint(id)
        } else {
            return nil
        }
    }
}
