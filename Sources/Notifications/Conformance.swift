/// How the service treats requests that the documents do not allow, or leave open.
package enum Conformance: String, Sendable, Hashable, CaseIterable {
    /// As Apple's service has been seen to do: requests of widely used clients are accepted.
    case apple
    /// By the letter of the documents, to find faults of a client.
    case strict
}
