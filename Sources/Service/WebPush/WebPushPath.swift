import Notifications

/// What the path of a request names.
enum WebPushPath: Sendable, Hashable {
    /// `/wp/` and the identifier of an endpoint.
    case endpoint(EndpointID)
    /// `/wp/m/` and the name of a message.
    case message(String)
    /// `/relay-to/`, an environment, a device token, and what an app has added.
    case relay(WebPushAPI.RelayPath)

    /// `/wp/f/` and the identifier of a body that waits to be fetched.
    case body(EndpointID)

    /// The path of messages, before the name.
    static let messages = EndpointID.path + "m/"

    /// The path of bodies that wait to be fetched, before the identifier.
    static let bodies = PhoneForwarding.fetchPath

    private static let relays = "/relay-to/"

    /// - Parameter path: without a query.
    init?(_ path: String) {
        if path.hasPrefix(Self.relays) {
            guard let path = WebPushAPI.RelayPath(path.dropFirst(Self.relays.count)) else { return nil }
            self = .relay(path)
            return
        }
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

extension WebPushAPI.RelayPath {
    /// - Parameter rest: what follows `/relay-to/`.
    fileprivate init?(_ rest: Substring) {
        // The extra part may have slashes.
        let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let environment = Environment(rawValue: String(parts[0])) else { return nil }
        var extra: String?
        if parts.count == 3, !parts[2].isEmpty {
            guard let decoded = parts[2].percentDecodedText,
                decoded.utf8.count <= WebPushRelay.maximumExtraBytes
            else { return nil }
            extra = decoded
        }
        self.init(environment: environment, token: String(parts[1]), extra: extra)
    }
}
