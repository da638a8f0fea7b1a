import Delivery
import HTTPAPI
import Notifications
import Trust

/// What the accounts say about administrators' certificates at one moment.
struct AdministratorTrust: Sendable {
    let accounts: AccountsSnapshot
    /// Whether the node knows all revocations; see ``Accounts/isCurrent``.
    let isCurrent: Bool

    init(_ accounts: AccountsSnapshot = AccountsSnapshot(), isCurrent: Bool = true) {
        self.accounts = accounts
        self.isCurrent = isCurrent
    }

    init(_ accounts: any Accounts) { self.init(accounts.current, isCurrent: accounts.isCurrent) }

    /// The reason to refuse a certificate that was valid at its handshake; nil if it is still valid.
    func refusal(of identity: AdministratorIdentity, now: Timestamp) -> Problem? {
        guard Double(now.milliseconds) / 1000 <= identity.validUntil else {
            return Problem(403, "The administrator's certificate has expired.")
        }
        guard !accounts.hasRevokedAdministrator(identity.serial) else {
            return Problem(403, "The administrator's certificate was revoked.")
        }
        return nil
    }

    /// The reason why the node cannot say whether a certificate is valid; nil if it can.
    var doubt: Problem? {
        guard !isCurrent else { return nil }
        return Problem(
            503,
            "This node has not heard from its store for \(AccountsLimits.maximumSilence.components.seconds) seconds, so the "
                + "certificate may have been revoked: ask another node, or over the socket in the data folder.")
    }
}
