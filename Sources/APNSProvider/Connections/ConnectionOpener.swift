import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Opens connections: looks the host up afresh for each, and takes the address that has the fewest (Guide, 2.3.3.1:
/// distribute them across several endpoints).
struct ConnectionOpener: Sendable {
    /// For the whole of it, the service's SETTINGS included.
    static let timeout = TimeAmount.seconds(10)

    let environment: APNSEnvironment
    let tls: NIOSSLContext

    /// The addresses in the order in which they are tried: those with the fewest connections first, and among equals
    /// as chance has it.
    static func order(
        _ addresses: [SocketAddress],
        inUse: [SocketAddress],
        using generator: inout some RandomNumberGenerator,
    ) -> [SocketAddress] {
        var different: [SocketAddress] = []
        for address in addresses where !different.contains(address) { different.append(address) }
        let counted = different.shuffled(using: &generator).map { address in
            (address: address, uses: inUse.count { $0 == address })
        }
        return counted.sorted { $0.uses < $1.uses }.map(\.address)
    }

    /// Connects to one address. The channel has TLS, a gate that fails with the handshake, and the session.
    func connect(
        to address: SocketAddress,
        within timeout: TimeAmount,
        on loop: any EventLoop,
        _ application: NIOLoopBound<ServerConnection>,
    ) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: loop)
            .connectTimeout(timeout)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: environment.tlsName)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    var configuration = HTTP2Configuration()
                    // Until the service's SETTINGS have come nothing is sent (Guide, 2.3.3: "do not assume a specific
                    // number of streams").
                    configuration.concurrentStreamsBeforeSettings = 1
                    let session = HTTP2Session(
                        role: .client, configuration: configuration, application: application.value)
                    try channel.pipeline.syncOperations.addHandler(session)
                }
            }
            .connect(to: address)
    }
}

/// Finds the addresses of a host.
struct HostLookup: Sendable {
    var addresses: @Sendable (_ host: String, _ port: Int) async throws -> [SocketAddress]

    /// The system's resolver. It blocks, and so has a thread of its own.
    static let system = HostLookup { host, port in
        try await NIOThreadPool.singleton.runIfActive { try Self.resolve(host, port) }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static func resolve(_ host: String, _ port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &found)
        guard result == 0 else {
            throw Failure(description: "the name \(host) is not known: \(String(cString: gai_strerror(result)))")
        }
        defer { freeaddrinfo(found) }
        var addresses: [SocketAddress] = []
        var entry = found
        while let info = entry?.pointee {
            if let address = info.ai_addr.flatMap({ Self.address($0, info.ai_family, host) }) {
                addresses.append(address)
            }
            entry = info.ai_next
        }
        guard !addresses.isEmpty else { throw Failure(description: "the name \(host) has no address") }
        return addresses
    }

    private static func address(
        _ address: UnsafeMutablePointer<sockaddr>,
        _ family: Int32,
        _ host: String,
    ) -> SocketAddress? {
        switch family {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee, host: host) }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee, host: host) }
        default:
            nil
        }
    }
}
