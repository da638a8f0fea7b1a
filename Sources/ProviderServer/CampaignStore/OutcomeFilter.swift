/// Selects outcomes of a message.
package enum OutcomeFilter: Sendable, Hashable {
    case all
    case accepted
    case failed
    case reason(String)
}
