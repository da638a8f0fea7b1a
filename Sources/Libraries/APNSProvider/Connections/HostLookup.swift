import Foundation
import NIOCore
import NIOPosix

/// Finds the addresses of a host.
struct HostLookup: Sendable {
    var addresses: @Sendable (_ host: String, _ port: Int) async throws -> [SocketAddress]

    /// The system's resolver. It blocks, so it runs on a separate thread.
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
            throw Failure(description: cause(of: result, host))
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

    /// Why `getaddrinfo` has found nothing. A name is only unknown if the resolver says so: it may be out of reach.
    static func cause(of result: Int32, _ host: String) -> String {
        result == EAI_NONAME
            ? "the name \(host) is not known"
            : "the name \(host) cannot be looked up: \(String(cString: gai_strerror(result)))"
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
