package import Delivery

/// Carries out requests about handles and grants, which the provider API's port takes too (docs/gateway.md).
package protocol HandleAsking: Sendable {
    /// Answers a request.
    /// - Parameters:
    ///   - path: not decoded.
    ///   - authorization: the value of the header field; nil if it is missing.
    ///   - body: nil if it is larger than ``maximumBodyBytes``.
    ///   - peer: the client's address.
    func answer(
        method: String, path: String, authorization: String?, body: [UInt8]?, from peer: String
    ) async -> HandleAnswer

    /// Whether a path belongs to such a request.
    func takes(_ path: String) -> Bool

    /// The largest body, in bytes.
    var maximumBodyBytes: Int { get }
}
