import Notifications
package import Storage

/// All ports of one store. A service uses its data only through them.
package protocol Store: Accounts, Invitations, Registrations, Mailboxes, WebPushSubscriptions, Feedback, AttemptNumbers,
    HeldPushes, ClearHeldPushes
{
    /// The token keys and the certificate authority.
    var secrets: any Secrets { get }

    /// All registrations, readable without the store, for the delivery log that the store holds.
    var knownRegistrations: any KnownRegistrations { get }

    /// The broadcast channels.
    var broadcastChannels: any Channels { get }

    /// The handles of the gateway, and what its grants have sent.
    var grantStore: any GrantStore { get }

    /// The endpoints of these handles.
    var handleEndpoints: any HandleEndpoints { get }

    /// What phones fetch.
    var webPushBodies: any WebPushBodyStore { get }

    /// What the services of a store that several of them share use in addition; nil if only one service uses the store.
    var cluster: (any ClusterPorts)? { get }

    /// Returns why the store cannot be used at present; nil if it can. Called once a second, and by `/ready`.
    func trouble() async -> StoreError?

    /// Writes all changes that the store has accepted, and releases its files. Later calls may fail.
    func close() async
}

package typealias ClusterPorts = ChannelNews & ClusterNodes & DeviceHolds

extension Store {
    package var cluster: (any ClusterPorts)? { nil }

    package func trouble() async -> StoreError? { await reading() }

    /// Returns why the store cannot be read; nil if it can.
    package func reading() async -> StoreError? {
        do throws(StoreError) {
            // Any read will do, because it accesses the store's files.
            let nobody = DeviceKey(environment: .development, device: DeviceID(rawValue: 0))
            _ = try await entries(of: nobody)
            return nil
        } catch {
            return error
        }
    }
}
