public import NIOCore
public import NIOPosix
import NIOSSL

/// A provider that uses the legacy binary API, for servers that support nothing else. In all other cases, use
/// ``ProviderClient``.
///
/// Notifications are sent in large writes, and kept until the service has confirmed them. If a connection ends, all
/// that are unconfirmed are sent again. If it ended without an error packet, for a shutdown, or with a processing
/// error, the service may have accepted some of them, so the device may receive these twice.
public struct BinaryProvider: Sendable {
    private let environment: APNSEnvironment
    private let credentials: ProviderCredentials
    private let proxy: HTTPProxy?
    private let group: any EventLoopGroup
    private let limits: BinaryWindow.Limits

    /// The size of one write, in bytes.
    private static let writeBytes = 65_536

    /// The time that the service has for taking a write, and for its error packet after everything was written.
    private static let patience = TimeAmount.seconds(30)

    /// Creates a provider.
    /// - Parameters:
    ///   - environment: the host, and the binary API's port (2195).
    ///   - credentials: a provider certificate. The binary API does not support provider tokens.
    ///   - proxy: the HTTP proxy through which the service is reached; nil for direct connections.
    ///   - group: the event loops to use; by default those that the process shares.
    /// - Throws: ``ProviderError/Code/badCredentials`` if the credentials are not a certificate.
    public init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        proxy: HTTPProxy? = nil,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) throws(ProviderError) {
        try self.init(
            environment: environment, credentials: credentials, proxy: proxy, group: group,
            limits: BinaryWindow.Limits())
    }

    init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        proxy: HTTPProxy? = nil,
        group: any EventLoopGroup,
        limits: BinaryWindow.Limits,
    ) throws(ProviderError) {
        guard case .certificate = credentials.kind else {
            throw ProviderError(.badCredentials, "The binary API needs a provider certificate.")
        }
        self.environment = environment
        self.credentials = credentials
        self.proxy = proxy
        self.group = group
        self.limits = limits
    }

    /// Sends notifications and returns all outcomes, in the order of `pushes`, when the last one is known.
    ///
    /// If the first connection cannot be opened, everything fails at once. If a later connection ends and no further
    /// notification was confirmed, the rest is sent again a few times before it fails.
    /// - Returns: One outcome for each notification. If the task is cancelled, those without an outcome fail with
    ///   ``ProviderError/Code/cancelled``.
    public func send(_ pushes: [BinaryPush]) async -> [BinaryOutcome] {
        var window = BinaryWindow(count: pushes.count, limits: limits)
        var step = pushes.isEmpty ? BinaryWindow.Step.finished : .connect(after: .zero)
        while case .connect(let delay) = step {
            do {
                if delay > .zero { try await Task.sleep(for: delay) }
                let connection = try await LegacyConnection.connect(
                    to: environment, through: proxy, credentials, reading: LegacyConnection.packetBytes, group)
                guard !Task.isCancelled else {
                    // Nothing was written yet, so do not count the notifications as sent.
                    await connection.close()
                    throw CancellationError()
                }
                step = window.ended(try await exchange(pushes, window.next, on: connection))
                try Task.checkCancellation()
            } catch _ where Task.isCancelled {
                window.giveUp(.taskCancelled)
                break
            } catch {
                let failure = error as? ProviderError ?? ProviderError(.cannotConnect, "\(error)")
                guard window.hasConnected else { return pushes.map { _ in .failed(failure) } }
                step = window.notConnected(failure)
            }
        }
        return window.outcomes.map { $0 ?? .failed(ProviderError(.connectionLost, "The service did not answer.")) }
    }

    /// Sends some of the notifications on one connection, followed by the probe. If the task is cancelled, the connection is
    /// closed.
    /// - Throws: ``ProviderError/Code/cannotConnect`` if TLS failed, so that none was sent.
    private func exchange(
        _ pushes: [BinaryPush],
        _ positions: Range<Int>,
        on connection: LegacyConnection,
    ) async throws(ProviderError) -> BinaryWindow.End {
        do {
            var buffer = ByteBuffer()
            for position in positions {
                pushes[position].write(BinaryWindow.identifier(position), to: &buffer)
                if buffer.readableBytes >= Self.writeBytes, connection.isOpen {
                    try await connection.write(buffer, within: Self.patience)
                    buffer.clear()
                }
            }
            BinaryPush.writeProbe(BinaryWindow.probe, to: &buffer)
            try await connection.write(buffer, within: Self.patience)
        } catch {
            // The service may have sent its error packet before it stopped reading, so read it.
        }
        let answer = await connection.read(within: Self.patience)
        await connection.close()
        guard !answer.hasNoTLS else {
            throw ProviderError(
                .cannotConnect, "No connection to \(environment.host):\(environment.port): \(answer.cause).")
        }
        guard let bytes = answer.bytes.getBytes(at: 0, length: LegacyConnection.packetBytes), bytes[0] == 8 else {
            return .lost(
                ProviderError(
                    .connectionLost, "The service ended the connection without an error packet: \(answer.cause)."))
        }
        let identifier = bytes[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return .packet(BinaryErrorCode(rawValue: bytes[1]), identifier: identifier)
    }
}
