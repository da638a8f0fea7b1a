/// What the doctor has found out about one thing that an agent needs.
package struct Finding: Sendable, Hashable, Codable {
    /// The things that the doctor looks at, in the order in which it reports them.
    package enum Check: String, Sendable, Hashable, Codable, CaseIterable {
        /// The agent's folder.
        case state
        /// The device's identity.
        case identity
        /// The machine's clock.
        case clock
        /// The courier's name in DNS.
        case name
        /// The courier's port.
        case port
        /// The courier's certificate.
        case certificate
        /// Whether identity and courier are of the same environment.
        case environment
        /// The socket for the apps.
        case socket
        /// The manifests of the apps.
        case manifests
        /// The buses that show alerts and start apps.
        case bus
    }

    package enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case ok
        /// The agent works, or will, but a person should look at this.
        case warning
        /// The agent does not work with this.
        case fault
        /// There is nothing to check, or an earlier fault makes it impossible.
        case skipped
    }

    package let check: Check
    package let state: State
    /// A sentence about what there is.
    package let text: String
    /// What to do; empty if there is nothing to do.
    package let advice: String

    init(_ check: Check, _ state: State, _ text: String, _ advice: String = "") {
        (self.check, self.state, self.text, self.advice) = (check, state, text, advice)
    }
}
