/// How the service reads what its documents leave open or clients get wrong.
package enum Conformance: String, Sendable, Hashable, CaseIterable {
    /// As the real service is seen to behave: what widely used clients send is taken.
    case apple
    /// By the letter of the documents, to find a client's faults.
    case strict
}
