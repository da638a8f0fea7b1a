import APNSProvider
import ProviderTesting
import Testing

/// What a provider of the binary API says of notifications that it has not sent.
@Suite(.timeLimit(.minutes(1))) struct BinaryProviderTests {
    /// Sends a notification in a task that was cancelled before.
    /// - Returns: why it failed; nil if it has not.
    private static func failureOfCancelled(_ environment: APNSEnvironment) async throws -> ProviderError? {
        let made = try TestAuthority.providerCertificate()
        let provider = try BinaryProvider(
            environment: environment, credentials: ProviderCredentials(certificate: made.chain + made.key))
        let push = try BinaryPush(deviceToken: Sample.deviceToken().hexadecimal, payload: Array("{}".utf8))
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await provider.send([push])
        }
        guard case .failed(let error) = await sending.value.first else { return nil }
        return error
    }

    @Test func `What a cancelled task has not sent was not taken`() async throws {
        try await RawServer.run(.silent) { environment in
            let error = try await Self.failureOfCancelled(environment)
            #expect(error?.code == .cancelled && error?.mayHaveBeenTaken == false)
        }
    }

    @Test func `A cancelled task that cannot connect was cancelled`() async throws {
        let error = try await Self.failureOfCancelled(APNSEnvironment(host: "127.0.0.1", port: 1))
        #expect(error?.code == .cancelled)
    }

    /// The server's authority is not one of the system's.
    @Test func `What was not sent because TLS failed was not taken, and is not tried again`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            let address = try server.environment()
            let made = try TestAuthority.providerCertificate()
            let provider = try BinaryProvider(
                environment: APNSEnvironment(host: address.host, port: address.port),
                credentials: ProviderCredentials(certificate: made.chain + made.key))
            let push = try BinaryPush(deviceToken: Sample.deviceToken().hexadecimal, payload: Array("{}".utf8))
            guard case .failed(let error) = await provider.send([push]).first else {
                Issue.record("It was sent to a server that is not trusted.")
                return
            }
            #expect(error.code == .cannotConnect && !error.mayHaveBeenTaken)
            #expect(error.cause.hasPrefix("No connection to \(address.host):\(address.port): "))
        }
    }
}
