package import Connections
import Credentials
package import Delivery
package import HTTP2
import NIOCore
package import Notifications
package import Trust

/// The service of the device connections of one environment.
package final class Courier: HTTP2Service {
    package let environment: Environment
    let authority: CertificateAuthority
    let tokenKeys: SharedTokenKeys
    let accounts: any Accounts
    let registrations: any Registrations
    let switchboard: any Switchboard
    let broadcasts: Broadcasts
    let seen: SeenDevices
    let activations: Activations
    let outboxes: Outboxes
    let limits: CourierLimits
    let limitLog: LimitLog
    let clock: ServiceClock
    /// Nil if the store has no subscriptions of Web Push.
    let webPush: WebPushEndpoints?

    /// Creates a courier.
    /// - Parameters:
    ///   - fence: closed if other nodes may have taken this one's devices. What waits to be written to them is then dropped.
    ///   - limitLog: records the limits that are exceeded.
    package init(
        environment: Environment,
        authority: CertificateAuthority,
        tokenKeys: SharedTokenKeys,
        accounts: any Accounts,
        registrations: any Registrations,
        switchboard: any Switchboard,
        broadcasts: Broadcasts,
        seen: SeenDevices,
        activations: Activations,
        fence: HoldFence? = nil,
        limits: CourierLimits = CourierLimits(),
        limitLog: LimitLog,
        clock: ServiceClock,
        webPush: WebPushEndpoints? = nil,
    ) {
        self.environment = environment
        self.authority = authority
        self.tokenKeys = tokenKeys
        self.accounts = accounts
        self.registrations = registrations
        self.switchboard = switchboard
        self.broadcasts = broadcasts
        self.seen = seen
        self.activations = activations
        outboxes = Outboxes(fence)
        self.limits = limits
        self.limitLog = limitLog
        self.clock = clock
        self.webPush = webPush
    }

    /// Small buffers, because there are many devices and they are nearly always silent.
    package static var buffers: ConnectionBuffers { .idle }

    package func sessionConfiguration(for peer: DeviceIdentity?) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.limits.maxConcurrentStreams = limits.concurrentStreams
        configuration.limits.announcedConcurrentStreams = limits.concurrentStreams
        // A device without a certificate can only request one.
        configuration.maxBodyBytes = peer == nil ? SigningRequest.maximumBytes : limits.bodyBytes
        configuration.idleMemory = .releasedOnRequest
        return configuration
    }

    /// Admits only devices with a certificate of this service. The environment is checked later, so that the device
    /// gets the reason.
    package func admit(_ chain: [[UInt8]]) throws -> DeviceIdentity {
        let identity = try identity(chain, mayHaveExpired: false)
        let device = DeviceKey(environment: identity.environment, device: identity.device)
        guard accounts.current.revokedDevices[device] == nil else {
            throw TrustError(.revoked, "The device \(identity.device) was revoked.")
        }
        return identity
    }

    package static func alert(for error: any Error) -> UInt8? { (error as? TrustError)?.tlsAlert }

    /// Admits a device that was revoked, or whose certificate has expired, since the first handshake. It gets what it
    /// would have got while it was connected, so that it does not try for ever.
    package func admitResumed(_ chain: [[UInt8]]) throws -> DeviceIdentity {
        try identity(chain, mayHaveExpired: true)
    }

    private func identity(_ chain: [[UInt8]], mayHaveExpired: Bool) throws -> DeviceIdentity {
        let now = Double(clock.machineTime.milliseconds) / 1000
        let peer = try authority.verifyPeer(chain: chain, as: .device, now: now, mayHaveExpired: mayHaveExpired)
        guard case .device(let identity) = peer else {
            throw TrustError(.wrongUse, "The certificate is not a device's.")
        }
        return identity
    }

    package func makeConnection(from peer: DeviceIdentity?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        DeviceConnection(
            courier: self,
            identity: peer,
            // A connection through a load balancer on this machine does not count as local, because its client may be
            // anywhere.
            isLocal: accepted.isDirect && accepted.remote?.isLoopback ?? false,
            peer: accepted.peer,
            eventLoop: accepted.channel.eventLoop,
        )
    }
}
