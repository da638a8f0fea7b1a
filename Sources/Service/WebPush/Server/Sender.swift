import Connections
import HTTPAPI
import HTTPTypes
import NIOCore
import Notifications

/// Who sends the requests of a connection.
struct Sender: Sendable {
    /// The address of the connection, or that of a PROXY header.
    var address: SocketAddress?
    /// Whether a proxy may name the sender of each request in `X-Forwarded-For`.
    var isNamedByField: Bool
    /// The connection's number in the journal; 0 if nobody observes the requests.
    var connection: UInt64 = 0
    /// Whether the connection comes from this machine, or from where `--accept-any-from` says.
    var isNear = false

    /// Whether a request comes from there. What a proxy says of this machine does not count.
    func isNear(_ fields: HTTPFields, or ranges: [AddressRange]) -> Bool {
        guard isNamedByField, !fields[values: FieldName.forwardedFor].isEmpty else { return isNear }
        return address(of: fields).map { named in ranges.contains { $0.contains(named) } } ?? false
    }

    /// The address of the sender of a request. Of `X-Forwarded-For` the last address counts: the proxy has added it, and all others
    /// may be the sender's invention.
    func address(of fields: HTTPFields) -> SocketAddress? {
        guard isNamedByField, let last = fields[values: FieldName.forwardedFor].last else { return address }
        guard let text = last.split(separator: ",", omittingEmptySubsequences: false).last else { return address }
        let name = String(text).trimmingBlanks
        // Some proxies add the port.
        return name.socketAddress() ?? HTTPAuthority(name)?.host.socketAddress() ?? address
    }
}
