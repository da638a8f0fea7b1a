import Connections
package import NIOCore
import NIOPosix
package import NIOSSL

/// One HTTP/2 connection for a client that makes a few requests: a command, or a service that checks whether another
/// one answers.
package final class HTTP2Client: Sendable {
    private let channel: any Channel
    private let exchanges: NIOLoopBound<ClientExchanges>
    private let authority: String
    private let isSecure: Bool

    /// The address of the server.
    package enum Address: Sendable {
        /// If the host has several addresses, they are tried one after the other. The server name for the TLS handshake
        /// is the host's unless another is given.
        case tcp(host: String, port: Int, tls: NIOSSLContext, serverName: String? = nil)
        case unix(path: String)
    }

    /// The largest body of a response, in bytes.
    package static let maximumResponseBytes = 1 << 20

    /// Connects. It does not wait for the TLS handshake: if that fails, the first request fails.
    package static func connect(
        to address: Address,
        timeout: TimeAmount = .seconds(10),
        group: any EventLoopGroup,
    ) async throws(HTTP2ClientError) -> HTTP2Client {
        let bootstrap = ClientBootstrap(group: group).connectTimeout(timeout)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            // All handlers are added before the first byte can come, because the server sends at once.
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Self.install(on: channel, to: address) }
            }
        do {
            switch address {
            case .tcp(let host, let port, _, _):
                let channel = try await bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: host, port: port).get()
                let shown = host.contains(":") ? "[\(host)]" : host
                return try await HTTP2Client(channel: channel, authority: "\(shown):\(port)", isSecure: true)
            case .unix(let path):
                let channel = try await bootstrap.connect(unixDomainSocketPath: path).get()
                return try await HTTP2Client(channel: channel, authority: "localhost", isSecure: false)
            }
        } catch {
            throw HTTP2ClientError(.cannotConnect, "No connection to \(address): \(ConnectionFailure.cause(of: error))")
        }
    }

    private static func install(on channel: any Channel, to address: Address) throws {
        if case .tcp(let host, _, let tls, let serverName) = address {
            let name = serverName ?? (host.isIPAddress ? nil : host)
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        let exchanges = ClientExchanges(eventLoop: channel.eventLoop)
        let session = HTTP2Session(role: .client, configuration: HTTP2Configuration(), application: exchanges)
        try channel.pipeline.syncOperations.addHandler(session)
    }

    private init(channel: any Channel, authority: String, isSecure: Bool) async throws {
        self.channel = channel
        self.authority = authority
        self.isSecure = isSecure
        exchanges = try await channel.eventLoop.submit {
            let session = try channel.pipeline.syncOperations.handler(type: HTTP2Session.self)
            guard let exchanges = session.application as? ClientExchanges else {
                throw HTTP2ClientError(.connectionEnded, "The server closed the connection at once.")
            }
            return NIOLoopBound(exchanges, eventLoop: channel.eventLoop)
        }.get()
    }

    /// Sends a request and reads the response.
    package func send(
        _ request: HTTP2Request,
        timeout: TimeAmount = .seconds(30),
    ) async throws(HTTP2ClientError) -> HTTP2Response {
        let promise = channel.eventLoop.makePromise(of: HTTP2Response.self)
        let headers = HeaderBlock(request, authority: authority, isSecure: isSecure)
        channel.eventLoop.execute { [exchanges] in
            exchanges.value.begin(headers, body: request.body, timeout: timeout, promise: promise)
        }
        do {
            return try await promise.futureResult.get()
        } catch {
            throw error as? HTTP2ClientError ?? HTTP2ClientError(.connectionEnded, "\(error)")
        }
    }

    /// Ends the connection.
    package func close() async {
        // This fails if the connection has ended already.
        try? await channel.close()
    }
}

extension HTTP2Client.Address: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let host, let port, _, _): "\(host), port \(port)"
        case .unix(let path): path
        }
    }
}

extension HeaderBlock {
    fileprivate init(_ request: HTTP2Request, authority: String, isSecure: Bool) {
        self.init()
        append(":method", request.method)
        append(":scheme", isSecure ? "https" : "http")
        append(":authority", authority)
        append(":path", request.path, indexing: .never)
    }
}
