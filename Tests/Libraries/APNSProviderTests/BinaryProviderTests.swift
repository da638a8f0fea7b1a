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
}
