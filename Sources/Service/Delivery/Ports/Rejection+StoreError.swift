package import Notifications
package import Storage

extension Rejection {
    /// This node has not heard from the store of the accounts for too long; see ``Accounts/isCurrent``.
    package static let accountsNotCurrent = Rejection(
        .serviceUnavailable,
        detail:
            "This node has not heard from its store for \(AccountsLimits.maximumSilence.components.seconds) seconds.")

    /// Creates the rejection for an error of a port.
    ///
    /// A temporary error is ServiceUnavailable, because the same request may succeed a moment later. If the store's
    /// contents cannot be read, the error is permanent and the service's fault: InternalServerError (Guide, Table
    /// 8-6).
    package init(_ error: StoreError) {
        switch error.code {
        case .unreadable:
            self.init(.internalServerError, detail: error.cause)
        case .ended(let moment):
            self.init(.unregistered, timestamp: moment.milliseconds, detail: error.cause)
        case .revoked:
            self.init(.badCertificate, detail: error.cause)
        case .unknown, .unavailable, .conflict, .locked, .exists, .missing:
            self.init(.serviceUnavailable, detail: error.cause)
        }
    }
}
