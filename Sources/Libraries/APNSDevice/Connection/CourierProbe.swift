import Connections
import Credentials
package import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Finds out, step by step, why a device does or does not reach its courier. It changes nothing: it activates no device, and opens no
/// stream of notifications, which would end the device's own.
package struct CourierProbe: Sendable {
    /// The time limit of each step.
    private static let timeout = TimeAmount.seconds(10)

    /// What the courier presents in the handshake.
    package struct Presented: Sendable {
        /// The validity period of its certificate; nil if it cannot be read.
        package let validity: DateInterval?
    }

    package let courier: CourierAddress
    private let eventLoop: any EventLoop

    package init(_ courier: CourierAddress) {
        self.courier = courier
        eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    }

    /// Whether the host is an address, which needs no DNS.
    package var isAddress: Bool { courier.host.isIPAddress }

    /// Looks up the host's name. It waits for the resolver on this thread.
    /// - Returns: the first address.
    package func address() throws(DeviceError) -> String {
        do {
            let found = try SocketAddress.makeAddressResolvingHost(courier.host, port: courier.port)
            return found.ipAddress ?? courier.host
        } catch {
            throw DeviceError(.notConnected, ConnectionFailure.cause(of: error))
        }
    }

    /// Connects with TCP, and closes the connection.
    package func connect() async throws(DeviceError) {
        do {
            let channel = try await bootstrap { $0.eventLoop.makeSucceededVoidFuture() }.get()
            try? await channel.close()
        } catch {
            throw DeviceError(.notConnected, ConnectionFailure.cause(of: error))
        }
    }

    /// Does a handshake, whatever the certificate is.
    package func presented() async throws(DeviceError) -> Presented {
        let promise = eventLoop.makePromise(of: Presented.self)
        do {
            let context = try context(.noHostnameVerification, nil)
            let name = serverName
            let channel = try await bootstrap { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: name) { chain, verified in
                        promise.succeed(Presented(validity: chain.first?.validity))
                        verified.succeed(.certificateVerified)
                    }
                    try channel.pipeline.syncOperations.addHandlers(tls, FailureHandler { promise.fail($0) })
                }
            }.get()
            let late = eventLoop.scheduleTask(in: Self.timeout) {
                promise.fail(ChannelError.connectTimeout(Self.timeout))
            }
            defer { late.cancel() }
            let presented = try await promise.futureResult.get()
            try? await channel.close()
            return presented
        } catch {
            // It may not have been completed, if there was no connection.
            promise.fail(error)
            throw DeviceError(.disconnected, ConnectionFailure.cause(of: error))
        }
    }

    /// Whether the authority has issued the courier's certificate, whatever name it is for. This also checks the dates.
    package func isIssuedByAuthority() async throws(DeviceError) -> Bool {
        let promise = eventLoop.makePromise(of: Void.self)
        let authority: [NIOSSLCertificate]
        do {
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: courier.authorityFile)))
            authority = try PEM(bytes).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        } catch {
            let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
            throw DeviceError(.badAuthority, cause)
        }
        do {
            let context = try context(.noHostnameVerification, authority)
            let name = serverName
            let channel = try await bootstrap { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: name)
                    let end = FailureHandler {
                        promise.fail($0)
                    } completed: {
                        promise.succeed()
                    }
                    try channel.pipeline.syncOperations.addHandlers(tls, end)
                }
            }.get()
            let late = eventLoop.scheduleTask(in: Self.timeout) {
                promise.fail(ChannelError.connectTimeout(Self.timeout))
            }
            defer { late.cancel() }
            try await promise.futureResult.get()
            try? await channel.close()
            return true
        } catch {
            promise.fail(error)
            return false
        }
    }

    /// Asks the courier for the list of revoked certificates, which anybody may have. This checks the courier's certificate as the
    /// agent does.
    /// - Parameter identity: the identity to ask with. The courier refuses one that is revoked, has expired or is of the other
    ///   environment.
    /// - Returns: the time by the service's clock; nil if the answer does not say it.
    package func ask(as identity: DeviceIdentity? = nil) async throws(DeviceError) -> Date? {
        let credentials = try identity.map { identity throws(DeviceError) in try DeviceCredentials(identity) }
        let tls = try CourierTLS(courier)
        let link = NIOLoopBoundBox.makeBoxSendingValue(
            DeviceLink(
                credentials, tls: tls, delegate: Nobody(), configuration: Device.Configuration(), eventLoop: eventLoop),
            eventLoop: eventLoop)
        let result: Result<CourierResponse, DeviceError>
        do {
            let response = try await link.send(CourierRequest(.get, "/1/crl"), timeout: Self.timeout, on: eventLoop)
            result = .success(response)
        } catch {
            result = .failure(error)
        }
        // The future does not fail.
        try? await eventLoop.flatSubmit { link.value.close() }.get()
        let list = String(decoding: try result.get().body, as: UTF8.self)
        return (try? RevocationList.made(pem: list)).map { Date(timeIntervalSince1970: $0) }
    }

    // MARK: Connections

    private var serverName: String? { courier.serverName ?? (isAddress ? nil : courier.host) }

    private func context(
        _ verification: CertificateVerification, _ roots: [NIOSSLCertificate]?
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.certificateVerification = verification
        configuration.shutdownTimeout = .seconds(1)
        if let roots { configuration.trustRoots = .certificates(roots) }
        return try NIOSSLContext(configuration: configuration)
    }

    private func bootstrap(
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop).connectTimeout(Self.timeout).channelInitializer(initializer)
        if let address = courier.host.socketAddress(port: courier.port) {
            return bootstrap.connect(to: address)
        }
        return bootstrap.connect(host: courier.host, port: courier.port)
    }

    /// Tells of the end of a handshake.
    private final class FailureHandler: ChannelInboundHandler {
        typealias InboundIn = NIOAny
        private let failed: (any Error) -> Void
        private let completed: () -> Void

        init(_ failed: @escaping (any Error) -> Void, completed: @escaping () -> Void = {}) {
            (self.failed, self.completed) = (failed, completed)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? TLSUserEvent, case .handshakeCompleted = event { completed() }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            failed(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            failed(NIOSSLError.handshakeFailed(.sslError([])))
            context.fireChannelInactive()
        }
    }
}
