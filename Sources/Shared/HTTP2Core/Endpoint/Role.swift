/// The side of the connection.
package enum Role: Sendable, Hashable {
    case client
    case server

    var peer: Role { self == .client ? .server : .client }
}
