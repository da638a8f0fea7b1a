package import Connections
package import Delivery
package import HTTP2
package import NIOCore
package import Notifications
package import Trust

/// The part of the service that holds the device connections of one environment: what stands behind its listener.
package final class Courier: HTTP2Service {
    package let environment: Environment
    let authority: CertificateAuthority
    let tokenKeys: SharedTokenKeys
    let accounts: any Accounts
    let registrations: any Registrations
    let switchboard: any Switchboard
    let activations: Activations
    let outboxes = Outboxes()
    let limits: CourierLimits
    let limitLog: LimitLog
    let clock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - limitLog: told of limits that strike.
    ///   - clock: tells the time, in milliseconds since 1970.
    package init(
        environment: Environment,
        authority: CertificateAuthority,
        tokenKeys: SharedTokenKeys,
        accounts: any Accounts,
        registrations: any Registrations,
        switchboard: any Switchboard,
        activations: Activations,
        limits: CourierLimits = CourierLimits(),
        limitLog: LimitLog,
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.environment = environment
        self.authority = authority
        self.tokenKeys = tokenKeys
        self.accounts = accounts
        self.registrations = registrations
        self.switchboard = switchboard
        self.activations = activations
        self.limits = limits
        self.limitLog = limitLog
        self.clock = clock
    }

    /// Devices are many, and silent nearly always.
    package static var buffers: ConnectionBuffers { .idle }

    package func sessionConfiguration(for peer: DeviceIdentity?) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.maxConcurrentStreams = limits.concurrentStreams
        configuration.announcedConcurrentStreams = limits.concurrentStreams
        // Without a certificate there is nothing to send but a request for one.
        configuration.maxBodyBytes = peer == nil ? SigningRequest.maximumBytes : limits.bodyBytes
        configuration.rest = .asked
        return configuration
    }

    /// Devices alone, with a certificate of ours. Its environment is judged later, so that the device hears why.
    package func admit(_ chain: [[UInt8]]) throws -> DeviceIdentity {
        let now = Double(clock().milliseconds) / 1000
        guard case .device(let identity) = try authority.verifyPeer(chain: chain, as: .device, now: now) else {
            throw TrustError(.wrongUse, "The certificate is not a device's.")
        }
        let device = DeviceKey(environment: identity.environment, device: identity.device)
        guard accounts.current.revokedDevices[device] == nil else {
            throw TrustError(.revoked, "The device \(identity.device) was revoked.")
        }
        return identity
    }

    package func makeConnection(from peer: DeviceIdentity?, on channel: any Channel) -> any HTTP2Connection {
        DeviceConnection(
            courier: self,
            identity: peer,
            isLocal: channel.remoteAddress?.isLoopback ?? false,
            eventLoop: channel.eventLoop,
        )
    }
}

/// The named bounds of the device protocol, each with the reason for its value.
package struct CourierLimits: Sendable, Hashable {
    /// How many requests a device may have open: its notifications, and a registration for each of many apps.
    package var concurrentStreams = 100

    /// In bytes: acknowledgements of a thousand notifications fit twice.
    package var bodyBytes = 65_536

    /// How long a request's headers, and then its body, may take.
    package var requestTimeout = TimeAmount.seconds(10)

    /// How long a stream of notifications may be silent before an empty line is sent: routers forget a silent
    /// connection after about five minutes.
    package var keepAlive = TimeAmount.minutes(4)

    /// How long a connection may be without any open request: a device listens, or has done what it came for.
    package var idleTimeout = TimeAmount.minutes(10)

    package init() {}
}

extension SocketAddress {
    /// Whether the peer is on this machine.
    fileprivate var isLoopback: Bool {
        switch self {
        case .v4: ipAddress?.hasPrefix("127.") ?? false
        case .v6: ipAddress == "::1" || ipAddress?.hasPrefix("::ffff:127.") ?? false
        case .unixDomainSocket: true
        }
    }
}
