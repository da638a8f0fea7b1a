import Connections
import Foundation
import Logging
import Management
import NIOCore
import Notifications
import Trust

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Opens the listeners of the management API: the Unix socket, TCP, and TLS where a setting asks for it.
struct ManagementOpening {
    let server: ManagementServer
    let settings: Settings
    let certificate: ServerCertificate

    /// - Returns: where it listens, `host:port`; nil if it is switched off.
    func openTCP() async throws(ServiceError) -> Listener? {
        guard let address = settings.managementAddress else { return nil }
        do {
            return try await server.listen(
                host: address.host, port: address.port, isLoopback: ListenAddress.isLoopback(address.host))
        } catch {
            throw failure(error, "management", address)
        }
    }

    func openTLS() async throws(ServiceError) -> Listener? {
        guard let address = settings.managementTLS else { return nil }
        do {
            let certificate = certificate
            return try await server.listen(host: address.host, port: address.port) { certificate.managementContext }
        } catch {
            throw failure(error, "management-tls", address)
        }
    }

    private func failure(_ error: any Error, _ setting: String, _ address: ListenAddress) -> ServiceError {
        ServiceError(
            .cannotListen,
            "The management port \(address.port) on \(address.host) cannot be opened "
                + "(\(ConnectionFailure.cause(of: error))); name another with --\(setting) ADDRESS:PORT.")
    }

    func openSocket(at path: String) async throws(ServiceError) -> Listener {
        // The system's limit, with the zero at the end (sys/un.h).
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else {
            throw ServiceError(
                .cannotListen,
                "The socket's path \(path) has \(path.utf8.count) bytes, and the system allows \(limit); "
                    + "name a shorter one with --socket or CARILLON_SOCKET, or a data folder with a shorter path.")
        }
        try removeAbandonedSocket(path)
        do {
            let listener = try await server.listen(atSocket: path)
            chmod(path, 0o600)
            return listener
        } catch {
            throw ServiceError(
                .cannotListen, "The socket \(path) cannot be opened (\(ConnectionFailure.cause(of: error))).")
        }
    }

    /// Removes the socket of a service that was killed, and nothing else.
    private func removeAbandonedSocket(_ path: String) throws(ServiceError) {
        // Nothing there, as a rule.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return }
        guard attributes[.type] as? FileAttributeType == .typeSocket else {
            throw ServiceError(
                .cannotListen, "\(path) is there and no socket; name another place for the socket with --socket.")
        }
        // Whoever accepts is alive; a service that was killed has left the socket behind.
        guard !Self.answers(path) else {
            throw ServiceError(
                .alreadyRunning, "Another service answers at \(path); name another place for the socket with --socket.")
        }
        unlink(path)
    }

    /// Whether a process listens on the socket.
    private static func answers(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, streamSocketType, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The path was checked to fit, with the zero after it.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    private static var streamSocketType: Int32 {
        #if canImport(Glibc)
            Int32(SOCK_STREAM.rawValue)
        #else
            SOCK_STREAM
        #endif
    }
}
