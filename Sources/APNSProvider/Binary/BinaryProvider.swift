public import NIOCore
public import NIOPosix
import NIOSSL

/// A provider that speaks the legacy binary API: for servers that know no other. ``ProviderClient`` is what everybody
/// else wants.
///
/// Notifications go out in large writes. What was sent is kept until the service has said that it is safe; what it has
/// discarded is sent again, and nothing else, unless a connection ends without a word.
public struct BinaryProvider: Sendable {
    private let environment: APNSEnvironment
    private let credentials: ProviderCredentials
    private let group: any EventLoopGroup
    private let limits: BinaryWindow.Limits

    /// In bytes, of one write.
    private static let writeBytes = 65_536

    /// How long the service may take to say something once everything was written.
    private static let patience = TimeAmount.seconds(30)

    /// - Parameters:
    ///   - environment: the host, and the binary API's port (2195).
    ///   - credentials: a provider certificate; the binary API knows no provider tokens.
    ///   - group: where it sends; the process's own by default.
    /// - Throws: ``ProviderError/Code/badCredentials`` when it is none.
    public init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) throws(ProviderError) {
        try self.init(environment: environment, credentials: credentials, group: group, limits: BinaryWindow.Limits())
    }

    init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        group: any EventLoopGroup,
        limits: BinaryWindow.Limits,
    ) throws(ProviderError) {
        guard case .certificate = credentials.kind else {
            throw ProviderError(.badCredentials, "The binary API takes a provider certificate alone.")
        }
        self.environment = environment
        self.credentials = credentials
        self.group = group
        self.limits = limits
    }

    /// Sends notifications, and tells what became of each, in their order, once all are settled.
    ///
    /// The first connection is tried once. Where a later one ends without any news, the rest is sent again a few times
    /// and then given up.
    public func send(_ pushes: [BinaryPush]) async -> [BinaryOutcome] {
        var window = BinaryWindow(count: pushes.count, limits: limits)
        var step = pushes.isEmpty ? BinaryWindow.Step.finished : .connect(after: .zero)
        while case .connect(let delay) = step {
            do {
                if delay > .zero { try await Task.sleep(for: delay) }
                step = window.ended(try await exchange(pushes, window.next))
            } catch is CancellationError {
                return window.outcomes.map { $0 ?? .failed(ProviderError(.cancelled, "The sending was cancelled.")) }
            } catch {
                let failure = error as? ProviderError ?? ProviderError(.cannotConnect, "\(error)")
                guard window.first > 0 else { return pushes.map { _ in .failed(failure) } }
                step = window.ended(.lost(failure))
            }
        }
        return window.outcomes.map { $0 ?? .failed(ProviderError(.connectionLost, "The service said nothing.")) }
    }

    /// Sends some of them on one connection, and the probe after them.
    private func exchange(_ pushes: [BinaryPush], _ positions: Range<Int>) async throws -> BinaryWindow.End {
        let connection = try await LegacyConnection.connect(
            to: environment, credentials, reading: LegacyConnection.packetBytes, group)
        do {
            var buffer = ByteBuffer()
            for position in positions {
                try Task.checkCancellation()
                pushes[position].write(BinaryWindow.identifier(position), to: &buffer)
                if buffer.readableBytes >= Self.writeBytes, connection.isOpen {
                    try await connection.write(buffer)
                    buffer.clear()
                }
            }
            BinaryPush.writeProbe(BinaryWindow.probe, to: &buffer)
            try await connection.write(buffer)
        } catch is CancellationError {
            await connection.close()
            throw CancellationError()
        } catch {
            // What the service had to say may have come before it stopped reading.
        }
        let answer = await connection.read(within: Self.patience)
        await connection.close()
        try Task.checkCancellation()
        guard let bytes = answer.bytes.getBytes(at: 0, length: LegacyConnection.packetBytes), bytes[0] == 8 else {
            return .lost(
                ProviderError(
                    .connectionLost, "The service ended the connection without a word (\(answer.cause)).",
                    mayHaveBeenTaken: true))
        }
        let identifier = bytes[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return .packet(BinaryErrorCode(rawValue: bytes[1]), identifier: identifier)
    }
}
