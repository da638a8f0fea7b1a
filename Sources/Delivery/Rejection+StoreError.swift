package import Notifications

extension Rejection {
    /// This node has been cut off from the accounts for too long: see ``Accounts/isCurrent``.
    package static let accountsNotCurrent = Rejection(
        .serviceUnavailable,
        detail:
            "This node has not heard from its store for \(AccountsLimits.maximumSilence.components.seconds) seconds.")

    /// What is answered where a port could not do what was asked.
    ///
    /// What passes is ServiceUnavailable: the same request may be good a moment later. A store whose contents cannot be
    /// read does not mend itself: that is the service's own fault, InternalServerError (Guide, Table 8-6).
    package init(_ error: StoreError) {
        switch error.code {
        case .unreadable:
            self.init(.internalServerError, detail: error.cause)
        case .ended(let moment):
            self.init(.unregistered, timestamp: moment.milliseconds, detail: error.cause)
        case .revoked:
            self.init(.badCertificate, detail: error.cause)
        case .unknown, .unavailable, .conflict, .exists, .missing:
            self.init(.serviceUnavailable, detail: error.cause)
        }
    }
}
