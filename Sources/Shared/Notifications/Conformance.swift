/// How the service treats requests that the documents do not allow, or leave open.
package enum Conformance: String, Sendable, Hashable, CaseIterable {
    /// Like Apple's service: requests that widely used clients send are accepted.
    case apple
    /// Exactly as the documents say, to find faults of a client.
    case strict
}
