package import Delivery

/// What a gateway needs to forward. A class, because every forwarded request uses it.
package final class GatewayForwarding: Sendable {
    package let port: any Forwarding
    /// The name with which the gateway appears in `via`. All nodes of a service have the same one.
    package let name: GatewayName
    /// Keeps what cannot be forwarded.
    package let held: any HeldPushes
    /// Keeps what is not forwarded but released by a person; nil outside the development environment.
    package let captures: (any CapturedPushes)?

    package init(
        port: any Forwarding,
        name: GatewayName,
        held: any HeldPushes,
        captures: (any CapturedPushes)?,
    ) {
        self.port = port
        self.name = name
        self.held = held
        self.captures = captures
    }
}
