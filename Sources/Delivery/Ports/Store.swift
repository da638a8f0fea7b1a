import Notifications

/// All ports of one store: all that a service knows of where its data is.
package protocol Store: Accounts, Invitations, Registrations, Mailboxes, Feedback {
    /// The token keys and the certificate authority.
    var secrets: any Secrets { get }

    /// All registrations, without the store: for the delivery log, which the store holds.
    var knownRegistrations: any KnownRegistrations { get }

    /// Why the store is of no use at present; nil if it can be used. It is asked once a second, and by `/ready`.
    func trouble() async -> StoreError?

    /// Writes what was taken, and gives up what the store holds open; whatever is asked after that may be refused.
    func close() async
}

extension Store {
    package func trouble() async -> StoreError? { await reading() }

    /// Why the store cannot be read; nil if it can.
    package func reading() async -> StoreError? {
        do throws(StoreError) {
            // Any reading will do: it goes as far as the store's files.
            let nobody = DeviceKey(environment: .development, device: DeviceID(rawValue: 0))
            _ = try await entries(of: nobody)
            return nil
        } catch {
            return error
        }
    }
}
