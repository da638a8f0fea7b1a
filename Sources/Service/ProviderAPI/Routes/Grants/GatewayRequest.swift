import Notifications
import Trust

/// A request about handles or grants, which phones and instances send to the provider API's port (docs/gateway.md).
final class GatewayRequest {
    /// The largest body, in bytes. A request for a handle has 500, and one for a grant 400.
    static let maximumBodyBytes = 4096

    enum Action: Hashable {
        case makeHandle
        case removeHandle(Handle)
        case makeGrant
    }

    private let path: String
    /// The client key in `authorization`; nil if there is none.
    private(set) var clientKey: String?

    init(path: Span<UInt8>) { self.path = path.text }

    /// Whether a path belongs to such a request.
    static func isPath(_ value: Span<UInt8>) -> Bool { begins(value, "/1/handles") || begins(value, "/1/grants") }

    private static func begins(_ value: Span<UInt8>, _ prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return value.count >= count && value.extracting(first: count).isEqual(to: prefix)
    }

    /// Reads `bearer ck_…`. The scheme may be in any case (RFC 9110, 11.1).
    func authorize(_ value: Span<UInt8>) {
        let scheme = "bearer "
        guard value.count <= scheme.utf8.count + GrantClientKey.maximumBytes else { return }
        let text = value.text
        guard text.lowercased().hasPrefix(scheme) else { return }
        let key = text.dropFirst(scheme.count).drop { $0 == " " }
        if key.hasPrefix(GrantClientKey.prefix) { clientKey = String(key) }
    }

    /// What the path and the method ask for.
    func action(isPost: Bool, isDelete: Bool) throws(Rejection) -> Action {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.dropFirst().first.map { String($0) } ?? "", parts.count) {
        case ("handles", 2), ("grants", 2):
            guard isPost else { throw Rejection(.methodNotAllowed, detail: "The only method is POST.") }
            return path == "/1/grants" ? .makeGrant : .makeHandle
        case ("handles", 3):
            guard isDelete else { throw Rejection(.methodNotAllowed, detail: "The only method is DELETE.") }
            guard let handle = parts.last.flatMap({ Handle(String($0)) }) else {
                throw Rejection(.badPath, detail: "The path must be /1/handles/ and 64 hexadecimal digits.")
            }
            return .removeHandle(handle)
        default:
            throw Rejection(.badPath, detail: "The paths are /1/handles, /1/handles/ and a handle, and /1/grants.")
        }
    }
}
