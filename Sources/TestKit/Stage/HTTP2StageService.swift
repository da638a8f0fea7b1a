package import Connections
package import HTTP2
package import Matching
package import NIOCore
package import Notifications

/// A provider API over HTTP/2 whose requests tests may see and disturb. In production, and for clients that nobody can
/// observe, it is the API alone.
package final class HTTP2StageService<API: HTTP2Service>: HTTP2Service {
    private let api: API
    /// Nil if nobody may observe the API's requests.
    private let stage: Stage?

    package struct Stage: Sendable {
        let observation: RequestObservation
        let environment: Environment
        let interface: ProviderInterface
        /// How long a connection may be idle before a client should check it with PING.
        let silence: TimeAmount
        /// The team of a client's certificate; nil if it has none.
        let team: @Sendable (API.Peer?) -> TeamID?

        package init(
            _ observation: RequestObservation,
            _ environment: Environment,
            _ interface: ProviderInterface,
            silence: TimeAmount,
            team: @escaping @Sendable (API.Peer?) -> TeamID?,
        ) {
            self.observation = observation
            self.environment = environment
            self.interface = interface
            self.silence = silence
            self.team = team
        }
    }

    package init(_ api: API, _ stage: Stage?) {
        self.api = api
        self.stage = stage
    }

    package func sessionConfiguration(for peer: API.Peer?) -> HTTP2Configuration {
        var configuration = api.sessionConfiguration(for: peer)
        if let stage, stage.interface == .http2, stage.observation.isActive { configuration.observesUnprocessed = true }
        return configuration
    }

    package static var buffers: ConnectionBuffers { API.buffers }
    package static var protocols: [String] { API.protocols }
    package static func alert(for error: any Error) -> UInt8? { API.alert(for: error) }

    package func admit(_ chain: [[UInt8]]) throws -> API.Peer { try api.admit(chain) }
    package func admitResumed(_ chain: [[UInt8]]) throws -> API.Peer { try api.admitResumed(chain) }

    package var refusesConnection: Bool {
        api.refusesConnection
            || stage.map { $0.observation.observer.refuses($0.environment, $0.interface) } ?? false
    }

    package func makeConnection(from peer: API.Peer?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        let connection = api.makeConnection(from: peer, on: accepted)
        guard let stage, let performer = connection as? any StagePerformer & HTTP2Connection else { return connection }
        let (team, observation) = (stage.team, stage.observation)
        return HTTP2Stage(
            performer,
            HTTP2Stage.Setting(
                observation: observation, environment: stage.environment, interface: stage.interface,
                silence: stage.silence, bodyLimit: api.sessionConfiguration(for: peer).maxBodyBytes,
                team: { team(peer) }, number: accepted.handshake?.number ?? observation.observer.connectionOpened(),
                serverName: accepted.handshake?.serverName, eventLoop: accepted.channel.eventLoop))
    }
}
