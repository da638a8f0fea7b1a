import Delivery
package import Notifications
import Trust

/// A request about handles or grants, which phones and instances send to the port of the provider API or of Web Push
/// (docs/gateway.md).
package final class HandleRequest: Sendable {
    /// The largest body, in bytes. A request for a handle has 800, and one for a grant 400.
    package static let maximumBodyBytes = 4096

    enum Action: Hashable {
        case makeHandle
        case removeHandle(Handle)
        /// Ends the endpoint of Web Push with this name.
        case removeEndpoint(Handle, String)
        case makeGrant
    }

    /// What the path and the method ask for.
    let action: Action
    /// The client key in `authorization`; nil if there is none.
    let clientKey: String?

    init(_ method: ProviderRequest.Method, _ path: String, clientKey: String?) throws(Rejection) {
        action = try Self.action(method, path)
        self.clientKey = clientKey
    }

    /// - Parameters:
    ///   - path: not decoded.
    ///   - authorization: the header's value; nil if it is missing.
    package convenience init(method: String, path: String, authorization: String?) throws(Rejection) {
        let method: ProviderRequest.Method =
            switch method {
            case "POST": .post
            case "DELETE": .delete
            default: .other
            }
        try self.init(method, path, clientKey: authorization.flatMap { Self.clientKey($0.utf8.span) })
    }

    /// Whether a path belongs to such a request.
    package static func isPath(_ path: String) -> Bool { isPath(path.utf8.span) }

    /// Whether a path belongs to such a request.
    static func isPath(_ value: Span<UInt8>) -> Bool { begins(value, "/1/handles") || begins(value, "/1/grants") }

    private static func begins(_ value: Span<UInt8>, _ prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return value.count >= count && value.extracting(first: count).isEqual(to: prefix)
    }

    /// The client key in `bearer ck_…`; nil if there is none.
    static func clientKey(_ authorization: Span<UInt8>) -> String? {
        guard authorization.count <= "bearer ".utf8.count + GrantClientKey.maximumBytes,
            let key = BearerCredentials.key(of: authorization.text), key.hasPrefix(GrantClientKey.prefix)
        else { return nil }
        return String(key)
    }

    private static func action(_ method: ProviderRequest.Method, _ path: String) throws(Rejection) -> Action {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.dropFirst().first.map { String($0) } ?? "", parts.count) {
        case ("handles", 2), ("grants", 2):
            guard method == .post else { throw Rejection(.methodNotAllowed, detail: "The only method is POST.") }
            return path == "/1/grants" ? .makeGrant : .makeHandle
        case ("handles", 3):
            guard method == .delete else { throw Rejection(.methodNotAllowed, detail: "The only method is DELETE.") }
            return .removeHandle(try handle(parts[3...].first))
        case ("handles", 5) where parts[4...].first == "subscriptions":
            guard method == .delete else { throw Rejection(.methodNotAllowed, detail: "The only method is DELETE.") }
            let handle = try handle(parts[3...].first)
            guard let name = parts.last.flatMap({ WebPushSubscription.name(inPath: $0) }) else {
                throw Rejection(.badPath, detail: "A subscription has \(WebPushSubscription.nameRule).")
            }
            return .removeEndpoint(handle, name)
        default:
            throw Rejection(
                .badPath,
                detail: "The paths are /1/handles, /1/handles/ and a handle, this with /subscriptions/ and a name, and "
                    + "/1/grants.")
        }
    }

    private static func handle(_ part: Substring?) throws(Rejection) -> Handle {
        guard let handle = part.flatMap({ Handle(String($0)) }) else {
            throw Rejection(.badPath, detail: "The path must have 64 hexadecimal digits after /1/handles/.")
        }
        return handle
    }
}
