package import Delivery

/// What the ports promise, as checks that every store's tests run.
///
/// The checks ask for no more than the ports' comments say: results per item, no transaction across keys, no order
/// across keys, versions whose numbers mean nothing. A store's test target runs them all:
///
/// ```swift
/// @Test(arguments: StoreContract.promises)
/// func keeps(_ promise: StoreContract.Promise) async throws {
///     try await StoreContract { try await makeStore() }.check(promise)
/// }
/// ```
package struct StoreContract: Sendable {
    /// A store as its ports.
    package struct Ports: Sendable {
        package let accounts: any Accounts
        package let registrations: any Registrations
        package let mailboxes: any Mailboxes
        package let secrets: any Secrets
        package let invitations: any Invitations
        package let feedback: any Feedback
        /// Called when the check is over.
        package let close: @Sendable () async -> Void

        package init(
            accounts: any Accounts,
            registrations: any Registrations,
            mailboxes: any Mailboxes,
            secrets: any Secrets,
            invitations: any Invitations,
            feedback: any Feedback,
            close: @escaping @Sendable () async -> Void = {},
        ) {
            self.accounts = accounts
            self.registrations = registrations
            self.mailboxes = mailboxes
            self.secrets = secrets
            self.invitations = invitations
            self.feedback = feedback
            self.close = close
        }
    }

    /// One promise and its check.
    package struct Promise: Sendable, CustomStringConvertible {
        package let name: String
        let check: @Sendable (Ports) async throws -> Void

        init(_ name: String, _ check: @escaping @Sendable (Ports) async throws -> Void) {
            self.name = name
            self.check = check
        }

        package var description: String { name }
    }

    /// All of them.
    package static let promises =
        mailboxPromises + registrationPromises + accountPromises + secretPromises + invitationPromises
        + feedbackPromises

    private let makeStore: @Sendable () async throws -> Ports

    /// - Parameter makeStore: makes a store that nothing else uses and that holds nothing yet.
    package init(_ makeStore: @escaping @Sendable () async throws -> Ports) {
        self.makeStore = makeStore
    }

    /// Checks one promise on a fresh store.
    package func check(_ promise: Promise) async throws {
        let ports = try await makeStore()
        do {
            try await promise.check(ports)
        } catch {
            await ports.close()
            throw error
        }
        await ports.close()
    }
}
