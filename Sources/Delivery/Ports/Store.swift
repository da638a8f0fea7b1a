/// All ports of one store: all that a service knows of where its data is.
package protocol Store: Accounts, Invitations, Registrations, Mailboxes, Feedback {
    /// The token keys and the certificate authority.
    var secrets: any Secrets { get }

    /// All registrations, without the store: for the delivery log, which the store holds.
    var knownRegistrations: any KnownRegistrations { get }

    /// Writes what was taken, and gives up what the store holds open; whatever is asked after that may be refused.
    func close() async
}
