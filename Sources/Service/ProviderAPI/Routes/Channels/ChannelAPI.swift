package import Connections
import Delivery
package import HTTP2
import Notifications
package import Trust

/// The management of broadcast channels for one environment (docs/channels.md). It trusts the same providers as the
/// provider API of that environment.
package final class ChannelAPI: HTTP2Service {
    let provider: ProviderAPI
    let limits: ChannelConnectionLimits

    /// - Parameter provider: the provider API of the environment.
    package init(provider: ProviderAPI, limits: ChannelConnectionLimits = ChannelConnectionLimits()) {
        self.provider = provider
        self.limits = limits
    }

    package static var buffers: ConnectionBuffers { .busyOrIdle }

    package func sessionConfiguration(for peer: ProviderIdentity?) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.idleMemory = .releasedOnRequest
        configuration.limits.maxConcurrentStreams = limits.concurrentStreams
        configuration.limits.announcedConcurrentStreams = limits.concurrentStreams
        configuration.maxBodyBytes = limits.bodyBytes
        configuration.earlyReset = .onceRead
        return configuration
    }

    package func admit(_ chain: [[UInt8]]) throws -> ProviderIdentity { try provider.admit(chain) }

    package static func alert(for error: any Error) -> UInt8? { ProviderAPI.alert(for: error) }

    package func makeConnection(from peer: ProviderIdentity?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        ChannelConnection(api: self, certificate: peer, accepted: accepted)
    }
}

/// The named limits of the management of channels, each with the reason for its value.
package struct ChannelConnectionLimits: Sendable, Hashable {
    /// The largest number of open requests on a connection. Each waits for the store, and a provider makes few of
    /// them.
    package var concurrentStreams = 100

    /// The largest body, in bytes. The only request with a body has two short keys in it.
    package var bodyBytes = 4096

    package init() {}
}
