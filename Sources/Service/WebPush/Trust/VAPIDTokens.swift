import Delivery
import HTTPTypes
import Synchronization
import Trust

/// Verifies the tokens of requests, and remembers those that are valid.
final class VAPIDTokens: Sendable {
    private let rules: VAPIDRules
    private let memory = Mutex(VAPIDMemory<[UInt8]>())
    /// Called with each token that is verified and not recalled. For tests.
    private let verifying: @Sendable () -> Void

    init(_ rules: VAPIDRules, verifying: @escaping @Sendable () -> Void = {}) {
        self.rules = rules
        self.verifying = verifying
    }

    /// Checks the token of a request to an endpoint.
    /// - Parameters:
    ///   - digest: the hash of the endpoint.
    ///   - now: seconds since 1970.
    /// - Returns: the key; nil if the request has no token.
    func key(of fields: HTTPFields, toEndpoint digest: [UInt8], now: Double) throws(VAPIDFault) -> [UInt8]? {
        guard let credential = try VAPIDCredential.read(fields) else { return nil }
        guard credential.token.count <= VAPIDRules.maximumBytes else {
            throw VAPIDFault("The token is larger than \(VAPIDRules.maximumBytes) bytes.")
        }
        let name = credential.digest
        if let verified = memory.withLock({ $0.recall(name) }) {
            try verified.check(now: now)
            return verified.key
        }
        verifying()
        let verified = try rules.verify(token: credential.token, key: credential.key, now: now)
        memory.withLock { $0.remember(name, as: verified, of: digest) }
        return verified.key
    }
}
