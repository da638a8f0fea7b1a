import Connections
import Foundation
import Management
import NIOCore
import NIOPosix
import Notifications
import Trust

/// Opens the listeners of the management API: always the Unix socket, TCP unless it is switched off, and TLS if a
/// setting asks for it.
struct ManagementOpening {
    let base: ServiceBase
    let certificate: ServerCertificate

    private var settings: Settings { base.settings }

    /// The listeners of the management API.
    struct Opened: Sendable {
        let server: ManagementServer
        let key: String
        let socket: Listener
        /// Nil if TCP is switched off.
        let tcp: Listener?
        /// Nil unless a setting asks for TLS.
        let tls: Listener?

        var listeners: [Listener] { [socket] + [tcp, tls].compactMap(\.self) }
    }

    func open(_ parts: ManagementParts) async throws(ServiceError) -> Opened {
        let key = try ManagementKey.load(in: base.folder)
        // It limits how many connections each address may open over TCP and TLS.
        let connects = ConnectGuard(
            .managementConnectRate, settings.managementConnects, budget: base.budget, log: base.limitLog)
        let server = ManagementServer(
            ManagementAPI(parts), hostnames: settings.hostnames, key: key, connects: connects, logger: base.logger)
        do throws(ServiceError) {
            return Opened(
                server: server, key: key,
                socket: try await openSocket(of: server, at: settings.socketPath ?? base.folder.socketFile),
                tcp: try await openTCP(of: server), tls: try await openTLS(of: server))
        } catch {
            await server.close()
            throw error
        }
    }

    private func openTCP(of server: ManagementServer) async throws(ServiceError) -> Listener? {
        guard let address = settings.managementAddress else { return nil }
        do {
            return try await server.listen(
                host: address.host, port: address.port, isLoopback: address.host.isLoopbackHost)
        } catch {
            throw failure(error, "management", address)
        }
    }

    private func openTLS(of server: ManagementServer) async throws(ServiceError) -> Listener? {
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

    private func openSocket(of server: ManagementServer, at path: String) async throws(ServiceError) -> Listener {
        // The system's limit includes the terminating zero byte (sys/un.h).
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else {
            throw ServiceError(
                .cannotListen,
                "The socket's path \(path) has \(path.utf8.count) bytes, and the system allows \(limit); "
                    + "name a shorter one with --socket or CARILLON_SOCKET, or a data folder with a shorter path.")
        }
        try await removeAbandonedSocket(path)
        do {
            let listener = try await server.listen(atSocket: path)
            chmod(path, 0o600)
            return listener
        } catch {
            throw ServiceError(
                .cannotListen, "The socket \(path) cannot be opened (\(ConnectionFailure.cause(of: error))).")
        }
    }

    /// Removes a socket that a killed service has left. Does not remove files of other kinds.
    private func removeAbandonedSocket(_ path: String) async throws(ServiceError) {
        // If the attributes cannot be read, there is no file, which is the usual case.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return }
        guard attributes[.type] as? FileAttributeType == .typeSocket else {
            throw ServiceError(
                .cannotListen, "\(path) exists and is not a socket; name another place for the socket with --socket.")
        }
        // If a connection is accepted, a running process uses the socket.
        guard await !Self.answers(path) else {
            throw ServiceError(
                .alreadyRunning, "Another service answers at \(path); name another place for the socket with --socket.")
        }
        unlink(path)
    }

    /// Whether a process accepts connections at the socket.
    private static func answers(_ path: String) async -> Bool {
        let connecting = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: path)
        // If the connection fails, no process listens.
        guard let channel = try? await connecting.get() else { return false }
        channel.close(promise: nil)
        return true
    }
}
