package import Delivery
package import Journal
package import Matching
package import Notifications
package import VirtualDevices

/// What there is for tests, in the development environment only.
package struct ManagementTesting: Sendable {
    /// Sends a notification by the gateway's rules.
    package typealias Send =
        @Sendable (_ notification: ManagementMessages.NewNotification) async -> (id: NotificationID, outcome: Outcome)

    package let journal: RequestJournal
    package let watch: RequestWatch
    package let devices: VirtualDevices
    package let mailboxes: any Mailboxes
    package let send: Send
    /// The addresses of the service and its authority, as the line that says it is ready has them.
    package let service: @Sendable () -> JSONValue

    package init(
        journal: RequestJournal,
        watch: RequestWatch,
        devices: VirtualDevices,
        mailboxes: any Mailboxes,
        send: @escaping Send,
        service: @escaping @Sendable () -> JSONValue,
    ) {
        self.journal = journal
        self.watch = watch
        self.devices = devices
        self.mailboxes = mailboxes
        self.send = send
        self.service = service
    }
}

extension ManagementAPI {
    /// - Parameter what: what was asked for, as in "The journal".
    /// - Throws: 403 if the service does not serve the development environment.
    func testing(_ what: String) throws(Problem) -> ManagementTesting {
        guard let testing = parts.testing else {
            throw Problem(
                403, "\(what) is for the development environment only, and this service does not serve it.")
        }
        return testing
    }
}
