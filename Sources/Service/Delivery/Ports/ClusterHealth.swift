/// How a node of a cluster stands with its store, as it knows it without asking.
package struct ClusterHealth: Sendable {
    /// The time until the node's lease runs out if it is not renewed; zero if it has run out or was taken.
    package let leaseRemaining: Duration
    /// How often the node has lost its lease since the start and had to take a new one. Devices then connect again.
    package let leasesLost: UInt64
    /// The connections to the store that are open or were not tried yet.
    package let openConnections: Int
    /// The connections to the store that could not be opened, or were lost and are not open again.
    package let lostConnections: Int
    /// The groups of statements that wait for a connection.
    package let waitingStatements: Int
    /// For how long one of the connections has been waiting for the same answer; the longest of all connections.
    package let longestWait: Duration

    package init(
        leaseRemaining: Duration,
        leasesLost: UInt64,
        openConnections: Int,
        lostConnections: Int,
        waitingStatements: Int,
        longestWait: Duration,
    ) {
        self.leaseRemaining = leaseRemaining
        self.leasesLost = leasesLost
        self.openConnections = openConnections
        self.lostConnections = lostConnections
        self.waitingStatements = waitingStatements
        self.longestWait = longestWait
    }
}
