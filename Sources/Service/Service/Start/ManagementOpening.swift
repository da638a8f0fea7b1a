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
        let key = try ManagementKey.load(in: base.folder, settings)
        // It limits how many connections each address may open over TCP and TLS.
        let connects = ConnectGuard(
            .managementConnectRate, settings.managementLimits.perAddress, budget: base.budget, log: base.limitLog)
        let server = ManagementServer(
            ManagementAPI(parts), hostnames: settings.hostnames, key: key, isInMemory: settings.store == .memory,
            connects: connects, logger: base.logger)
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
            return try await server.listen(host: address.host, port: address.port) { certificate.context(.management) }
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
        do {
            try await SocketFile.prepare(path)
        } catch {
            throw Self.failure(error)
        }
        do {
            let listener = try await server.listen(atSocket: path)
            chmod(path, 0o600)
            return listener
        } catch {
            throw ServiceError(
                .cannotListen, "The socket \(path) cannot be opened (\(ConnectionFailure.cause(of: error))).")
        }
    }

    private static func failure(_ refusal: SocketFile.Refusal) -> ServiceError {
        switch refusal.code {
        case .tooLong(let bytes, let limit):
            ServiceError(
                .cannotListen,
                "The socket's path \(refusal.path) has \(bytes) bytes, and the system allows \(limit); "
                    + "name a shorter one with --socket or CARILLON_SOCKET, or a data folder with a shorter path.")
        case .notSocket, .ofOtherUser:
            ServiceError(
                .cannotListen,
                "\(refusal.path) exists and is not a socket; name another place for the socket with --socket.")
        case .inUse:
            ServiceError(
                .alreadyRunning,
                "Another service answers at \(refusal.path); name another place for the socket with --socket.")
        }
    }
}
