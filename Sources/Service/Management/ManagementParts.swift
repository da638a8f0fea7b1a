package import Credentials
package import Delivery
package import Notifications
package import Rehearsals
package import Trust
package import Upstream

/// The parts of the service that the API uses. They are ports and closures, so the API does not know how things are
/// stored.
package struct ManagementParts: Sendable {
    package let accounts: any Accounts
    package let invitations: any Invitations
    package let grants: any GrantStore
    package let grantMeter: GrantMeter
    package let grantUpkeep: GrantUpkeep
    package let registrations: any Registrations
    package let switchboard: any Switchboard
    package let broadcasts: Broadcasts
    package let seen: SeenDevices
    package let tokenKeys: SharedTokenKeys
    package let authority: CertificateAuthority
    /// Makes the upstreams of apps.
    package let upstreams: UpstreamVault
    /// Returns the root certificate that clients of the listeners have to trust, in PEM.
    package let authorityPEM: @Sendable () -> String
    package let log: DeliveryLogSource
    /// Makes a new key for device tokens, and returns its number.
    package let rotateTokenKey: @Sendable () async throws -> UInt32
    /// The list of revoked provider certificates, for other software.
    package let revocationList: @Sendable () throws -> RevocationList
    /// The metrics in Prometheus' text format.
    package let metrics: @Sendable () -> String
    /// Why the service is not ready; nil if it is.
    package let unreadiness: @Sendable () async -> String?
    /// When the service started.
    package let started: Timestamp
    /// Returns the samples of the metrics that are later than a moment, in milliseconds since 1970.
    package let history: @Sendable (_ after: UInt64) -> [ManagementMessages.ServiceSample]
    package let clock: ServiceClock
    /// Nil if the service does not serve the development environment.
    package let rehearsals: RehearsalDirector?
    /// Advances the clock of the service, or of a team, and does everything that becomes due.
    package let advance: @Sendable (Duration, TeamID?) async throws(ServiceClock.AdvanceError) -> Timestamp
    /// Nil if the service does not serve the development environment.
    package let testing: ManagementTesting?

    /// Nil if no other service uses the store.
    package let cluster: (any ClusterNodes)?
    /// How the service treats what the documents do not allow.
    package var conformance = Conformance.apple
    /// The apps whose upstreams refuse the gateway's own key or certificate, as this node has seen it.
    package var upstreamRefusals: @Sendable () -> [UpstreamPlace: CredentialsRefusal] = { [:] }
    package var limits = ManagementLimits()
    /// Asks the other nodes for what they have logged about a notification. Likewise.
    package let otherLogs: (@Sendable (NotificationID) async throws -> OtherLogs)?
    /// Asks the other nodes which devices are connected to them. Likewise.
    package let otherDevices: OtherDevices.Question?

    package init(
        accounts: any Accounts,
        invitations: any Invitations,
        grants: any GrantStore,
        grantMeter: GrantMeter,
        grantUpkeep: GrantUpkeep,
        registrations: any Registrations,
        switchboard: any Switchboard,
        broadcasts: Broadcasts,
        seen: SeenDevices,
        tokenKeys: SharedTokenKeys,
        authority: CertificateAuthority,
        authorityPEM: (@Sendable () -> String)? = nil,
        upstreams: UpstreamVault,
        log: DeliveryLogSource,
        rotateTokenKey: @escaping @Sendable () async throws -> UInt32,
        revocationList: @escaping @Sendable () throws -> RevocationList,
        metrics: @escaping @Sendable () -> String,
        unreadiness: @escaping @Sendable () async -> String?,
        started: Timestamp,
        history: @escaping @Sendable (_ after: UInt64) -> [ManagementMessages.ServiceSample],
        clock: ServiceClock,
        rehearsals: RehearsalDirector?,
        advance: @escaping @Sendable (Duration, TeamID?) async throws(ServiceClock.AdvanceError) -> Timestamp,
        testing: ManagementTesting? = nil,
        cluster: (any ClusterNodes)? = nil,
        otherLogs: (@Sendable (NotificationID) async throws -> OtherLogs)? = nil,
        otherDevices: OtherDevices.Question? = nil,
    ) {
        self.accounts = accounts
        self.invitations = invitations
        self.grants = grants
        self.grantMeter = grantMeter
        self.grantUpkeep = grantUpkeep
        self.registrations = registrations
        self.switchboard = switchboard
        self.broadcasts = broadcasts
        self.seen = seen
        self.tokenKeys = tokenKeys
        self.authority = authority
        self.upstreams = upstreams
        self.authorityPEM = authorityPEM ?? { authority.rootPEM }
        self.log = log
        self.rotateTokenKey = rotateTokenKey
        self.revocationList = revocationList
        self.metrics = metrics
        self.unreadiness = unreadiness
        self.started = started
        self.history = history
        self.clock = clock
        self.rehearsals = rehearsals
        self.advance = advance
        self.testing = testing
        self.cluster = cluster
        self.otherLogs = otherLogs
        self.otherDevices = otherDevices
    }
}
