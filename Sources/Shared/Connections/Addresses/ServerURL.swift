import Foundation

/// The server that `https://host:port` names.
package struct ServerURL: Sendable, Hashable {
    /// A name or an IP address, which has no brackets.
    package let host: String
    /// Nil if the URL has none.
    package let port: Int?

    /// Why a text is no such URL.
    package enum Fault: Error, Hashable {
        /// It is no URL of HTTPS, or has no host.
        case otherForm
        /// It has a user, a password, a path, a query or a fragment. They would be ignored, because the protocols have paths of
        /// their own; and the URL is shown to people, so it must not contain a password.
        case additionalParts

        /// What to write, without the URL, which may contain a password.
        package var detail: String {
            switch self {
            case .otherForm: "is not an address; write https://host:port."
            case .additionalParts:
                "has more than a host and a port; write https://host:port, without a user, a password, a path, a query and "
                    + "a fragment."
            }
        }
    }

    package init(_ text: String) throws(Fault) {
        guard let parts = URLComponents(string: text), parts.scheme?.lowercased() == "https", let host = parts.host,
            !host.isEmpty
        else { throw .otherForm }
        guard parts.user == nil, parts.password == nil, ["", "/"].contains(parts.path), parts.query == nil,
            parts.fragment == nil
        else { throw .additionalParts }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port
    }
}
