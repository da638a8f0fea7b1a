import Notifications
import Trust

/// A request about handles or grants, which phones and instances send to the provider API's port (docs/gateway.md).
final class HandleRequest {
    /// The largest body, in bytes. A request for a handle has 500, and one for a grant 400.
    static let maximumBodyBytes = 4096

    enum Action: Hashable {
        case makeHandle
        case removeHandle(Handle)
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

    /// Whether a path belongs to such a request.
    static func isPath(_ value: Span<UInt8>) -> Bool { begins(value, "/1/handles") || begins(value, "/1/grants") }

    private static func begins(_ value: Span<UInt8>, _ prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return value.count >= count && value.extracting(first: count).isEqual(to: prefix)
    }

    /// Reads `bearer ck_…`. The scheme may be in any case (RFC 9110, 11.1).
    static func clientKey(_ authorization: Span<UInt8>) -> String? {
        let scheme = "bearer "
        guard authorization.count <= scheme.utf8.count + GrantClientKey.maximumBytes else { return nil }
        let text = authorization.text
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        let key = text.dropFirst(scheme.count).drop { $0 == " " }
        return key.hasPrefix(GrantClientKey.prefix) ? String(key) : nil
    }

    private static func action(_ method: ProviderRequest.Method, _ path: String) throws(Rejection) -> Action {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.dropFirst().first.map { String($0) } ?? "", parts.count) {
        case ("handles", 2), ("grants", 2):
            guard method == .post else { throw Rejection(.methodNotAllowed, detail: "The only method is POST.") }
            return path == "/1/grants" ? .makeGrant : .makeHandle
        case ("handles", 3):
            guard method == .delete else { throw Rejection(.methodNotAllowed, detail: "The only method is DELETE.") }
            guard let handle = parts.last.flatMap({ Handle(String($0)) }) else {
                throw Rejection(.badPath, detail: "The path must be /1/handles/ and 64 hexadecimal digits.")
            }
            return .removeHandle(handle)
        default:
            throw Rejection(.badPath, detail: "The paths are /1/handles, /1/handles/ and a handle, and /1/grants.")
        }
    }
}
