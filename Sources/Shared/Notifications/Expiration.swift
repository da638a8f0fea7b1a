/// When a notification is no longer valid and can be discarded (Guide, Table 8-2).
package enum Expiration: Sendable, Hashable {
    /// The provider gave no expiration: the service's own retention decides.
    case unspecified
    /// The provider wrote 0: one attempt, and the notification is never stored.
    case immediately
    /// Seconds since 1970 (UTC), never 0.
    case at(UInt64)

    /// - Parameter seconds: the provider's value: seconds since 1970 (UTC), or 0.
    package init(seconds: UInt64) {
        self = seconds == 0 ? .immediately : .at(seconds)
    }

    /// Seconds since 1970; nil if the provider gave none.
    package var seconds: UInt64? {
        switch self {
        case .unspecified: nil
        case .immediately: 0
        case .at(let seconds): seconds
        }
    }
}
