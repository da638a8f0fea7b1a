/// How the service spells the reason if a key is for the other environment.
///
/// Apple's page has one spelling, and Apple's service has been seen to send the other (APNSwift's pull request 229,
/// October 2025). A client has to know both.
package enum EnvironmentKeyReason: String, Sendable, Hashable, CaseIterable {
    case documented = "BadEnvironmentKeyIdInToken"
    case seen = "BadEnvironmentKeyInToken"

    /// The reason that is sent.
    package var reason: Rejection.Reason {
        switch self {
        case .documented: .badEnvironmentKeyIDInToken
        case .seen: .badEnvironmentKeyInToken
        }
    }
}
