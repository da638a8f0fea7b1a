import CommonTesting
package import Delivery
package import Storage
import Synchronization

/// The promises of the ports, as checks. The tests of every store run them all.
///
/// The checks demand only what the ports' comments promise: one result for each item, no transaction over several
/// keys, no order between keys, and versions whose numbers mean nothing:
///
/// ```swift
/// @Test(arguments: StoreContract.promises)
/// func keeps(_ promise: StoreContract.Promise) async throws {
///     try await StoreContract { log in StoreContract.Ports(try await makeStore(log)) }.check(promise)
/// }
/// ```
package struct StoreContract: Sendable {
    /// The ports of one store.
    package struct Ports: Sendable {
        package var accounts: any Accounts
        package var registrations: any Registrations
        package var mailboxes: any Mailboxes
        package var webPush: any WebPushSubscriptions
        package var secrets: any Secrets
        package var invitations: any Invitations
        package var feedback: any Feedback
        package var channels: any Channels
        package var attemptNumbers: any AttemptNumbers
        package var held: any HeldPushes
        package var grants: any GrantStore
        package var endpoints: any HandleEndpoints
        package var bodies: any WebPushBodyStore
        /// Called when the check is over.
        let close: @Sendable () async -> Void

        package init(_ store: any Store) {
            accounts = store
            registrations = store
            mailboxes = store
            webPush = store
            secrets = store.secrets
            invitations = store
            feedback = store
            channels = store.broadcastChannels
            attemptNumbers = store
            held = store
            grants = store.grantStore
            endpoints = store.handleEndpoints
            bodies = store.webPushBodies
            close = { await store.close() }
        }
    }

    /// One promise and its check.
    package struct Promise: Sendable, CustomStringConvertible {
        package let name: String
        let check: @Sendable (Ports, RecordingLog) async throws -> Void

        init(_ name: String, _ check: @escaping @Sendable (Ports) async throws -> Void) {
            self.name = name
            self.check = { ports, _ in try await check(ports) }
        }

        /// - Parameter check: gets mailboxes whose apps are registered on their devices.
        init(_ name: String, registering check: @escaping @Sendable (Ports) async throws -> Void) {
            self.init(name) { ports in
                var registering = ports
                registering.mailboxes = RegisteringMailboxes(ports)
                try await check(registering)
            }
        }

        /// - Parameter check: also gets the events that the store recorded in the delivery log.
        init(_ name: String, withLog check: @escaping @Sendable (Ports, RecordingLog) async throws -> Void) {
            self.name = name
            self.check = check
        }

        package var description: String { name }
    }

    /// All promises.
    package static let promises =
        mailboxPromises + keptPromises + webPushPromises + registrationPromises + listPromises + accountPromises
        + administratorPromises
        + upstreamPromises + heldPromises
        + secretPromises
        + invitationPromises
        + feedbackPromises + attemptNumberPromises + logPromises + deletionPromises + channelPromises + grantPromises
        + grantKeyPromises + handleAgePromises + endpointPromises + bodyPromises

    private let makeStore: @Sendable (any DeliveryLog) async throws -> Ports

    /// - Parameter makeStore: makes a new, empty store that records in the given log.
    package init(_ makeStore: @escaping @Sendable (any DeliveryLog) async throws -> Ports) {
        self.makeStore = makeStore
    }

    /// Checks one promise with a new store.
    package func check(_ promise: Promise) async throws {
        let log = RecordingLog()
        let ports = try await makeStore(log)
        try await withCleanUp {
            try await promise.check(ports, log)
        } cleanUp: {
            await ports.close()
        }
    }
}

/// Records all events.
package final class RecordingLog: DeliveryLog {
    private let all = Mutex<[DeliveryEvent]>([])

    package init() {}

    package var events: [DeliveryEvent] { all.withLock { $0 } }

    package func record(_ event: DeliveryEvent) { all.withLock { $0.append(event) } }
}
